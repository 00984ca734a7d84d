"""Handling a mail in the inbox page."""


def mail_from(agent, sender):
    """The xpath of the first mail in the list that this person sent."""
    threads = agent.find("//*[@id='main']//*[@class='email-thread']")
    senders = agent.find("//*[@id='main']//*[@class='email-thread']//*[@class='email-sender']")
    for thread, found in zip(threads, senders):
        if found["text"] == sender:
            return thread["xpath"]
    return None


def mark(agent, sender):
    agent.click_xpath(mail_from(agent, sender) + "//*[contains(@class, 'star')]")


def delete(agent, sender):
    agent.click_xpath(mail_from(agent, sender) + "//*[contains(@class, 'trash')]")


def reply(agent, sender, message):
    agent.click_xpath(mail_from(agent, sender))
    agent.click_xpath("//*[@class='email-reply']")
    agent.click_xpath("//*[@id='reply-text']")
    agent.type(message)
    agent.click_xpath("//*[@id='send-reply']")


def forward(agent, sender, receiver):
    agent.click_xpath(mail_from(agent, sender))
    agent.click_xpath("//*[@class='email-forward']")
    agent.click_xpath("//*[@class='forward-sender']")
    agent.type(receiver)
    agent.click_xpath("//*[@id='send-forward']")


def handle(agent, wanted):
    """Do with the mail of wanted["by"] what wanted["task"] names."""
    if wanted["task"] == "delete":
        delete(agent, wanted["by"])
    elif wanted["task"] == "forward":
        forward(agent, wanted["by"], wanted["to"])
    elif wanted["task"] == "reply":
        reply(agent, wanted["by"], wanted["message"])
    else:
        mark(agent, wanted["by"])
