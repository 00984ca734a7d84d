"""Procedures that click on one or a few elements of a page.

world: miniwob
source: written by hand
"""

import re


def click_button(agent, task):
    """Click on the button whose label the goal gives. Labels are case-sensitive.

    type: click-button
    """
    agent.click_xpath(f"//button[text()='{task.params['target']}']")


def click_button_sequence(agent, task):
    """Click button ONE, then button TWO, even if TWO covers ONE.

    type: click-button-sequence
    """
    click_visible_part(agent, "//button[text()='ONE']")
    agent.click_xpath("//button[text()='TWO']")


def click_collapsible(agent, task):
    """Expand the only section and click Submit.

    type: click-collapsible
    """
    agent.click_xpath("//h3")
    agent.click_xpath("//button[text()='Submit']")


def click_collapsible_2(agent, task):
    """Expand the section that contains the link of the goal, and click on the link.

    type: click-collapsible-2
    """
    link = f"//span[@class='alink'][text()='{task.params['target']}']"
    # The text of closed sections is in the HTML too, so there is no need to try them one by one.
    agent.click_xpath(f"//h3[following-sibling::div[1]{link}]")
    agent.click_xpath(f"//div[@aria-hidden='false']{link}")


def click_color(agent, task):
    """Click on the box of the colour in the goal. The goal names the colour even if the page shows a sample instead.

    type: click-color
    """
    agent.click_xpath(f"//*[@id='area']/div[contains(@style, 'background-color: {task.params['target']};')]")


def click_dialog(agent, task):
    """Close the dialog with the cross in its corner.

    type: click-dialog
    """
    agent.click_xpath("//button[@title='Close']")


def click_dialog_2(agent, task):
    """Click on a button of the dialog: Cancel, OK, or the cross that the goal calls x.

    type: click-dialog-2
    """
    label = task.params["target"]
    agent.click_xpath("//button[@title='Close']" if label == "x" else f"//button[text()='{label}']")


def click_link(agent, task):
    """Click on the link whose text the goal gives. The same word may occur elsewhere without a link.

    type: click-link
    """
    agent.click_xpath(f"//span[@class='alink'][text()='{task.params['target']}']")


def click_menu(agent, task):
    """Follow a path such as Ann>Bea>Cora: hover over each entry to open its menu, and click on the last one.

    type: click-menu
    """
    *parents, last = task.params["target"].split(">")
    entries = "//*[@id='menu']"
    for name in parents:
        agent.move_mouse_on(f"{entries}/li/div[text()='{name}']")
        entries += f"/li[div[text()='{name}']]/ul"
    agent.click_xpath(f"{entries}/li/div[text()='{last}']")


COLOUR_COMPONENTS = ("red", "green", "blue")


def click_shades(agent, task):
    """Click on every square whose colour is a shade of red, green or blue, then on Submit.

    type: click-shades
    """
    for square in agent.find("//*[@id='area']/span"):
        if shade_of(square["attributes"]["style"]) == task.params["target"]:
            agent.click_xpath(square["xpath"])
    agent.click_xpath("//button[text()='Submit']")


def shade_of(style):
    """Return the strongest component of a colour: rgb(190, 217, 188) is a shade of green."""
    amounts = [int(number) for number in re.findall(r"\d+", style)]
    return COLOUR_COMPONENTS[amounts.index(max(amounts))]


def click_shape(agent, task):
    """Click on a figure in the drawing that has the size, colour and kind in the goal.

    type: click-shape
    """
    wanted = set(task.params.values())
    for figure in agent.find("//*[@id='area_svg']/*"):
        if wanted <= words_for(figure):
            agent.click_xpath(figure["xpath"])
            return


def click_tab(agent, task):
    """Click on the tab whose number the goal gives.

    type: click-tab
    """
    agent.click_xpath(f"//a[text()='Tab #{task.params['target']}']")


def click_tab_2(agent, task):
    """Open the tab that contains the link of the goal, and click on the link.

    type: click-tab-2
    type: click-tab-2-hard - Open the tab that contains the link of the goal, among up to six, and click on the link.
    """
    click_link_on_tabs(agent, task.params["target"])


def click_test(agent, task):
    """Click on the only button.

    type: click-test
    """
    agent.click_xpath("//button")


def click_test_2(agent, task):
    """Click the button that the goal names, even if the other button covers it.

    type: click-test-2
    """
    click_visible_part(agent, f"//button[text()='{task.params['target']}']")


def click_widget(agent, task):
    """Click a widget of the kind that the goal names.

    type: click-widget
    """
    agent.click_xpath(f"//*[@data-type='{task.params['target']}']")


def count_shape(agent, task):
    """Count the figures that have every property in the question, and click that number.

    type: count-shape
    """
    wanted = set(task.params.values())
    figures = agent.find("//*[@id='area_svg']/*")
    count = len([figure for figure in figures if wanted <= words_for(figure)])
    agent.click_xpath(f"//*[@id='count-buttons']/button[text()='{count}']")


def focus_text(agent, task):
    """Click on the text field, which gives it the focus.

    type: focus-text
    """
    agent.click_xpath("//input[@type='text']")


def focus_text_2(agent, task):
    """Click on the text field whose number the goal gives.

    type: focus-text-2
    """
    agent.click_xpath(f"(//input[@type='text'])[{task.params['target']}]")


def grid_coordinate(agent, task):
    """Click on a point of the grid. The id of each point is its coordinates.

    type: grid-coordinate
    """
    agent.click_xpath(f"//*[@id='({task.params['x']},{task.params['y']})']")


def identify_shape(agent, task):
    """Click the button that names the figure.

    type: identify-shape
    """
    words = words_for(agent.find("//*[@id='area_svg']/*")[0])
    for button in agent.find("//*[@id='area-buttons']/button"):
        if button["attributes"]["data-type"] in words:
            agent.click_xpath(button["xpath"])


def navigate_tree(agent, task):
    """Open the folders that contain the entry in the goal, outermost first, then click the entry.

    type: navigate-tree
    """
    entry = f"(//*[@id='tree']//span[text()='{task.params['target']}'])[1]"
    for folder in agent.find(entry + "/ancestor::ul/preceding-sibling::span"):
        agent.click_xpath(folder["xpath"])
    agent.click_xpath(entry)


def click_visible_part(agent, xpath):
    """Click on an element, or on the middle of one of its edges if another element covers its centre."""
    if not was_refused(agent.click_xpath(xpath)):
        return
    box = agent.find(xpath)[0]["box"]
    left, top, right, bottom = 0.5, 0.5, box["width"] - 0.5, box["height"] - 0.5
    for x, y in ((left, bottom / 2), (right, bottom / 2), (right / 2, top), (right / 2, bottom)):
        if not was_refused(agent.click_at(xpath, x, y)):
            return


def was_refused(answer):
    """Return whether an action was refused."""
    return answer.startswith("Nothing happens")


SHAPES = {"rect": "rectangle", "circle": "circle", "polygon": "triangle"}


def words_for(figure):
    """Return all words that describe an element of a drawing, such as ``{"item", "large", "red", "shape", "circle"}``."""
    attributes, text = figure["attributes"], figure["text"]
    if figure["tag"] in SHAPES:
        kind, name = "shape", SHAPES[figure["tag"]]
        size = figure["box"]["width"]
    else:
        kind, name = "digit" if text.isdigit() else "letter", text
        size = float(attributes["font-size"].replace("px", ""))
    return {"item", "large" if size > 15 else "small", attributes["fill"], kind, name}


def click_link_on_tabs(agent, text):
    """Open the tab whose page contains the link, then click on the link.

    The text of closed tabs is in the HTML too, so there is no need to try the tabs one by one.
    """
    link = f"//span[@class='alink'][text()='{text}']"
    page = agent.find(f"{link}/ancestor::div[@role='tabpanel']")[0]
    agent.click_xpath(f"//a[@href='#{page['attributes']['id']}']")
    agent.click_xpath(f"//*[@id='{page['attributes']['id']}']{link}")
