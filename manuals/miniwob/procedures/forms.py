"""Procedures that fill in forms and submit them.

world: miniwob
source: written by hand
"""


def choose_list(agent, task):
    """Choose an entry of a drop-down list and click Submit.

    type: choose-list
    """
    agent.click_option(f"//option[text()='{task.params['target']}']")
    agent.click_xpath("//button[text()='Submit']")


def click_checkboxes(agent, task):
    """Tick the boxes that the goal lists, if any, and click Submit.

    type: click-checkboxes
    type: click-checkboxes-transfer
    """
    tick_and_submit(agent, task.params.get("targets", []))


def click_checkboxes_large(agent, task):
    """Tick the boxes that the goal lists, of which there are many, and click Submit.

    type: click-checkboxes-large
    """
    tick_and_submit(agent, task.params["targets"])


SYNONYMS = """
big large huge enormous gigantic
small tiny little mini petite
red scarlet crimson vermillion
happy cheerful joyful gleeful delighted
sad unhappy sorrowful miserable tragic
angry mad furious irritated
evil wicked immoral sinful corrupt depraved
wrong incorrect mistaken erroneous
real genuine actual
strange odd peculiar unusual weird
stop cease halt end finish
scared terrified panicked fearful frightened afraid
quiet calm peaceful serene mild
old aged archaic
love like adore favor
kill murder assassinate
keep retain preserve sustain maintain
hide conceal camouflage
hate despise loathe detest dislike
funny humorous amusing comical laughable
fat fleshy plump chubby
stupid dumb dull unwise
delicious savory delectable appetizing
cut slice carve chop
brave courageous fearless
begin start initiate launch
answer reply response
television televisions TV TVs
house home houses homes
fire flame fires flames
pig pork swine
rabbit rabbits bunny bunnies
car cars automobile automobiles vehicle vehicles
water
"""


def click_checkboxes_soft(agent, task):
    """Tick the boxes whose words mean the same as the words of the goal, and click Submit.

    type: click-checkboxes-soft
    """
    tick_and_submit(agent, [word for target in task.params["targets"] for word in similar_to(target)])


def similar_to(word):
    """Return the words with the same meaning, including the word itself."""
    groups = [line.split() for line in SYNONYMS.strip().splitlines()]
    return next((group for group in groups if word in group), [word])


def click_option(agent, task):
    """Choose the radio button whose label the goal gives and click Submit.

    type: click-option
    """
    agent.click_xpath(f"//label[text()='{task.params['target']}']/input")
    agent.click_xpath("//button[text()='Submit']")


def click_scroll_list(agent, task):
    """Choose one or two entries of a multiple-choice list and click Submit.

    type: click-scroll-list
    """
    for name in task.params["target"].split(", "):
        agent.click_option(f"//option[text()='{name}']")
    agent.click_xpath("//button[text()='Submit']")


def enter_date(agent, task):
    """Go to the first part of the date field, type month, day and year, and submit.

    type: enter-date
    """
    agent.click_xpath("//input[@type='date']")
    agent.press_key("arrow_left")  # the click may have landed on the year or the day
    agent.press_key("arrow_left")
    agent.type(task.params["target"].replace("/", ""))  # 05/20/2010: the field adds the slashes
    agent.click_xpath("//*[@id='subbtn']")


def enter_password(agent, task):
    """Type the password into both fields and submit.

    type: enter-password
    """
    for field in ("password", "verify"):
        agent.click_xpath(f"//*[@id='{field}']")
        agent.type(task.params["target"])
    agent.click_xpath("//*[@id='subbtn']")


def enter_text(agent, task):
    """Type the text of the goal into the field and submit.

    type: enter-text
    type: enter-text-dynamic
    """
    agent.click_xpath("//input[@type='text']")
    agent.type(task.params["target"])
    agent.click_xpath("//*[@id='subbtn']")


def enter_time(agent, task):
    """Go to the first part of the time field, type hour, minute and A or P, and submit.

    type: enter-time
    """
    agent.click_xpath("//input[@type='time']")
    agent.press_key("arrow_left")  # the click may have landed on AM or the minute
    agent.press_key("arrow_left")
    agent.type(task.params["target"].replace(":", "").replace("M", "").zfill(5))  # 9:37PM is typed as 0937P
    agent.click_xpath("//*[@id='subbtn']")


def login_user(agent, task):
    """Log in with the username and password in the goal.

    type: login-user
    """
    agent.click_xpath("//*[@id='username']")
    agent.type(task.params["username"])
    agent.click_xpath("//*[@id='password']")
    agent.type(task.params["password"])
    agent.click_xpath("//*[@id='subbtn']")


def cancel_popup(agent):
    """Close the pop-up if there is one, since it takes the focus; return whether there was one."""
    if agent.find("//*[@id='popup']"):
        agent.click_xpath("//*[@id='popup-cancel']")
        return True
    return False


def fill(agent, field, text):
    """Type a text into the field with this XPath, and cancel the pop-up that may appear."""
    agent.click_xpath(field)
    if cancel_popup(agent):
        agent.click_xpath(field)
    agent.type(text)


def login_user_popup(agent, task):
    """Log in with the username and password in the goal, and cancel the pop-up that may appear.

    type: login-user-popup
    """
    fill(agent, "//*[@id='username']", task.params["username"])
    fill(agent, "//*[@id='password']", task.params["password"])
    agent.click_xpath("//*[@id='subbtn']")


def multi_layouts(agent, task):
    """Search for the movies that the goal describes.

    type: multi-layouts
    type: multi-orderings
    """
    search_movies(agent, task.params["genre"], task.params["director"], task.params["year"])


def simple_algebra(agent, task):
    """Solve the equation for x, type the answer and submit.

    type: simple-algebra
    """
    problem = agent.find("//*[@id='math-problem']")[0]["text"]  # x - 3 = 60
    agent.click_xpath("//*[@id='math-answer']")
    agent.type(str(solution(problem)))
    agent.click_xpath("//*[@id='subbtn']")


def solution(problem):
    """Return x for an equation such as ``x - 3 = 60`` or ``7 + x = 12``."""
    left, sign, right, _, result = problem.split()
    if sign == "+":
        return int(result) - int(right if left == "x" else left)
    if left == "x":
        return int(result) + int(right)
    return int(left) - int(result)


def use_autocomplete(agent, task):
    """Type the beginning, choose the suggestion with the right ending, and submit.

    type: use-autocomplete
    """
    start, end = task.params["start"], task.params.get("end", "")
    agent.click_xpath("//*[@id='tags']")
    agent.type(start)
    for item in agent.find("//ul[contains(@class, 'ui-autocomplete')]/li"):
        if item["text"].startswith(start) and item["text"].endswith(end):
            agent.click_xpath(item["xpath"])
            agent.click_xpath("//*[@id='subbtn']")


def use_spinner(agent, task):
    """Click the spinner's arrow up or down until it shows the number, and submit.

    type: use-spinner
    """
    number = int(task.params["target"])
    arrow = "ui-spinner-up" if number > 0 else "ui-spinner-down"
    for _ in range(abs(number)):  # it starts at 0
        agent.click_xpath(f"//a[contains(@class, '{arrow}')]")
    agent.click_xpath("//*[@id='subbtn']")


def tick_and_submit(agent, wanted):
    """Tick each box whose label is one of the wanted words, then click Submit."""
    for label in agent.find("//label"):
        if label["text"] in wanted:
            agent.click_xpath(label["xpath"] + "/input")
    agent.click_xpath("//button[text()='Submit']")


def search_movies(agent, genre, director, year):
    """Fill in the three fields and submit the form."""
    fill_field(agent, ("Genre",), genre)
    fill_field(agent, ("Director",), director)
    fill_field(agent, ("Year", "Released"), year)
    agent.click_xpath("//*[text()='Submit' or text()='Search' or text()='Go!']")


def fill_field(agent, labels, text):
    """Type into the field whose row contains one of the labels. A row is an element with exactly one field."""
    named = " or ".join([f"contains(., '{label}')" for label in labels])
    agent.click_xpath(f"//*[{named}][count(.//input) = 1]//input")
    agent.type(text)
