"""Find, read and change tickets. Needs the helper file pages."""

HEADERS = {"owner": "Owned by:", "reporter": "Reported by:"}
COMMENT = "You may use WikiFormatting here."


def open_titled(agent, summary):
    """Open the ticket with this summary. Return True, or False if there is none."""
    for found in search(agent, summary):
        if found["name"].startswith("#") and f": {summary} (" in found["name"]:
            agent.click(found["id"])
            return True
    return False


def query_address(where, closed=False):
    """Return the address of the list of tickets whose fields have these values, by default without closed ones."""
    filters = [f"{field}={value}".replace(" ", "%20") for field, value in where.items()]
    return "/query?" + "&".join(filters + ([] if closed else ["status=!closed"]))


def list_tickets(agent, where, closed=False):
    """Return the tickets whose fields have these values, ordered by number, each as a dict of column to text."""
    columns = "".join([f"&col={name}" for name in ("id", "summary", "owner", "status", "component")])
    agent.goto(query_address(where, closed) + columns + "&order=id&max=200")
    header, tickets = None, []
    for texts in table_rows(agent):
        if "Ticket" in texts and "Summary" in texts:
            header = texts
        elif header and len(texts) == len(header):
            tickets.append(dict(zip(header, texts)))
    return tickets


def ticket_numbers(tickets):
    """Return the numbers of listed tickets."""
    return [int(ticket["Ticket"].strip("#")) for ticket in tickets]


def is_component(agent, name):
    """Return True if new tickets can have this component."""
    agent.goto("/newticket")
    return name in element_named(agent, "combobox", "Component:")["options"]


def field_value(agent, name):
    """Return the value of a field of the ticket on this page."""
    header = HEADERS.get(name, name.capitalize() + ":")
    return element_after(agent, "rowheader", header, "cell")["name"]


def read_comments(agent):
    """Return the author and the text of each comment on the ticket on this page."""
    found, inside = [], False
    for element in agent.find():
        if element["role"] == "heading":
            inside = element["name"].startswith("comment:")
            if inside:
                author = element["name"].split(" by ", 1)[1].split(",")[0]
                found.append([author.strip(), ""])
        elif inside and element["role"] == "paragraph":
            found[-1][1] += element["name"] + "\n"
    return [(author, text.strip()) for author, text in found]


def open_form(agent):
    """Unfold the form that changes the ticket on this page."""
    press(agent, "link", "Modify Ticket")


def add_comment(agent, text):
    """Add a comment to the ticket on this page."""
    fill(agent, COMMENT, text)
    submit(agent)


def submit(agent):
    """Submit the form that changes the ticket."""
    press(agent, "button", "Submit changes")
