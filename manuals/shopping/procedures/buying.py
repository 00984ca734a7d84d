"""A procedure that buys what the goal describes, for each category.

world: shopping
source: written by hand
"""

import re


def buy(agent, task):
    """Buy a product: search for what the goal says, compare products with it, select options, buy.

    type: beauty - Buy a product of the category beauty: search for what the goal says, compare products with it, select options, buy.
    type: electronics - Buy a product of the category electronics: search for what the goal says, compare products with it, select options, buy.
    type: fashion - Buy a product of the category fashion: search for what the goal says, compare products with it, select options, buy.
    type: garden - Buy a product of the category garden: search for what the goal says, compare products with it, select options, buy.
    type: grocery - Buy a product of the category grocery: search for what the goal says, compare products with it, select options, buy.
    """
    buy_wanted(agent, task)


# Words of a goal that say nothing about the product.
FILLERS = set("a an and be buy find for i in is it like looking me am need of should that the to want with would".split())


def plain(text):
    """A text's words and numbers with single spaces between and around them, so that phrases can be found in it."""
    return " " + " ".join(re.findall(r"[a-z0-9]+(?:\.[0-9]+)?", text.lower())) + " "


def wanted_in(goal):
    """What the goal says of the product, and the price that it should not exceed."""
    text, _, price = goal.partition(", and price lower than ")
    amount = re.search(r"[0-9.]+", price)
    return (plain(text), float(amount[0].rstrip(".")) if amount else 1000000.0)


def cut(text, phrases):
    """The text without the phrases, the longest taken out first."""
    for phrase in sorted(phrases, key=len, reverse=True):
        text = text.replace(plain(phrase), "  ")
    return text


def unexplained(text, phrases):
    """The text's words that belong to none of the phrases and are no fillers."""
    return [word for word in cut(text, phrases).split() if word not in FILLERS]


def values_in(text, choices):
    """Of each option the value that the text names, the longest if there are several."""
    found = {}
    for name, values in choices.items():
        named = [value for value in values if plain(value) in text]
        if named:
            found[name] = max(named, key=len)
    return found


def facts_on(page):
    """What an attributes page lists: the attributes, and the words that the product is found by."""
    found_by = re.search(r"^found by: (.*)$", page, re.MULTILINE)
    return re.findall(r"^- (.*)$", page, re.MULTILINE) + ([found_by[1]] if found_by else [])


def fits(agent, text, price):
    """On a product's own page: whether it is what the text says, at that price. Then the options are selected."""
    choices = agent.choices()
    facts = facts_on(agent.click("Attributes"))
    agent.click("< Prev")
    # An attribute may hold the name of a color, so the options are looked for in what is left.
    rest = cut(text, facts)
    values = values_in(rest, choices)
    if unexplained(rest, list(choices) + list(values.values())):
        return False
    for value in values.values():
        agent.click(value)
    # What is not chosen comes as it is listed first: to choose it shows what it costs.
    for name in choices:
        if agent.price()[1] > price and name not in values:
            agent.click(choices[name][0])
    # A price that is a range even now is not known before it is paid.
    return agent.price()[0] <= price


def likeliest_first(text, products, price):
    """The products on a page of results that may keep to the price, those whose titles say the most first."""
    affordable = [product for product in products if product["price"][0] <= price]
    return sorted(affordable, key=lambda product: len(unexplained(text, product["title"].split())))


def buy_wanted(agent, task):
    """Search for what the goal says, look at the products page by page, and buy the first that fits."""
    text, price = wanted_in(task.goal)
    # [Step 1] Search with all that the goal says, without the price.
    agent.search(text.strip())
    while True:
        # [Step 2] Look at the products of this page.
        for product in likeliest_first(text, agent.results(), price):
            agent.click(product["id"])
            if fits(agent, text, price):
                # [Step 3] Buy it; that ends the episode.
                agent.click("Buy Now")
            agent.click("< Prev")
        # [Step 4] None fits: go on to the next page.
        assert "Next >" in agent.clickable(), f"None of the products found is what was wanted: {text.strip()}"
        agent.click("Next >")
