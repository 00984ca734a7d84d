"""For each category, a procedure that buys the product that the goal describes.

world: shopping
source: written by hand
"""

import re


def buy(agent, task):
    """Buy a product: search for its description, compare the results with it, select options, and buy.

    type: beauty - Buy a product in the category beauty: search for its description, compare the results with it, select options, and buy.
    type: electronics - Buy a product in the category electronics: search for its description, compare the results with it, select options, and buy.
    type: fashion - Buy a product in the category fashion: search for its description, compare the results with it, select options, and buy.
    type: garden - Buy a product in the category garden: search for its description, compare the results with it, select options, and buy.
    type: grocery - Buy a product in the category grocery: search for its description, compare the results with it, select options, and buy.
    """
    buy_wanted(agent, task)


# Words of a goal that do not describe the product.
FILLERS = set("a an and be buy find for i in is it like looking me am need of should that the to want with would".split())


def plain(text):
    """Return the words and numbers of a text in lower case, with one space between and around them to find phrases by."""
    return " " + " ".join(re.findall(r"[a-z0-9]+(?:\.[0-9]+)?", text.lower())) + " "


def wanted_in(goal):
    """Return the description of the product in the goal, and its maximum price."""
    text, _, price = goal.partition(", and price lower than ")
    amount = re.search(r"[0-9.]+", price)
    return (plain(text), float(amount[0].rstrip(".")) if amount else 1000000.0)


def without_phrases(text, phrases):
    """Return the text without the phrases. Longer phrases are removed first."""
    for phrase in sorted(phrases, key=len, reverse=True):
        text = text.replace(plain(phrase), "  ")
    return text


def unexplained(text, phrases):
    """Return the words of the text that belong to no phrase and are not fillers."""
    return [word for word in without_phrases(text, phrases).split() if word not in FILLERS]


def values_in(text, choices):
    """Return a dict that maps each option to the longest of its values that the text names."""
    found = {}
    for name, values in choices.items():
        named = [value for value in values if plain(value) in text]
        if named:
            found[name] = max(named, key=len)
    return found


def descriptors_on(page):
    """Return the attributes on an attributes page, and the search words that find the product."""
    found_by = re.search(r"^found by: (.*)$", page, re.MULTILINE)
    return re.findall(r"^- (.*)$", page, re.MULTILINE) + ([found_by[1]] if found_by else [])


def fits(agent, text, price):
    """On a product page, select options and return True if the product matches the text and the price."""
    choices = agent.choices()
    descriptors = descriptors_on(agent.click("Attributes"))
    agent.click("< Prev")
    # An attribute may contain the name of a color, so look for the options in the remaining text.
    remaining_text = without_phrases(text, descriptors)
    values = values_in(remaining_text, choices)
    if unexplained(remaining_text, list(choices) + list(values.values())):
        return False
    for value in values.values():
        agent.click(value)
    # An option that is not chosen has its first value. Choosing that value shows what it costs.
    for name in choices:
        if agent.price()[1] > price and name not in values:
            agent.click(choices[name][0])
    # If the price is still a range, the amount is not known before buying.
    return agent.price()[0] <= price


def likeliest_first(text, products, price):
    """Return the affordable products on a page of results, the best matching titles first."""
    affordable = [product for product in products if product["price"][0] <= price]
    return sorted(affordable, key=lambda product: len(unexplained(text, product["title"].split())))


def buy_wanted(agent, task):
    """Search for the description in the goal, look at the results page by page, and buy the first match."""
    text, price = wanted_in(task.goal)
    # [Step 1] Search for the whole description, without the price.
    agent.search(text.strip())
    while True:
        # [Step 2] Look at the products of this page.
        for product in likeliest_first(text, agent.results(), price):
            agent.click(product["id"])
            if fits(agent, text, price):
                # [Step 3] Buy it; that ends the episode.
                agent.click("Buy Now")
            agent.click("< Prev")
        # [Step 4] If none matches, go to the next page.
        assert "Next >" in agent.clickable(), f"None of the products found matches the goal: {text.strip()}"
        agent.click("Next >")
