"""Fill in a search form for movies, whatever its layout and the order of its fields.

world: miniwob
source: written by hand
"""


def search_movies(agent, genre, director, year):
    """Fill in the three fields and press the button of the form."""
    fill_field(agent, ("Genre",), genre)
    fill_field(agent, ("Director",), director)
    fill_field(agent, ("Year", "Released"), year)
    agent.click_xpath("//*[text()='Submit' or text()='Search' or text()='Go!']")


def fill_field(agent, labels, text):
    """Type into the field whose row, the element that holds just this one field, contains one of the labels."""
    named = " or ".join([f"contains(., '{label}')" for label in labels])
    agent.click_xpath(f"//*[{named}][count(.//input) = 1]//input")
    agent.type(text)
