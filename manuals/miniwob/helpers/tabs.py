"""Links that lie on one of several tabs."""


def click_link_on_tabs(agent, text):
    """Open the tab whose page holds the link, then click on the link.

    The text of closed tabs is in the HTML too, so there is no need to try the tabs one by one.
    """
    link = f"//span[@class='alink'][text()='{text}']"
    page = agent.find(f"{link}/ancestor::div[@role='tabpanel']")[0]
    agent.click_xpath(f"//a[@href='#{page['attributes']['id']}']")
    agent.click_xpath(f"//*[@id='{page['attributes']['id']}']{link}")
