-- Tidemark, the fictional project that our site contains. The module trac_process runs this file in a new Trac database.
-- Trac stores a time in microseconds since 1970. The UPDATE statements compute all times.

DELETE FROM component;
DELETE FROM version;
DELETE FROM milestone;
DELETE FROM wiki;

-- Users, and what they may do. The time 1915000000 is in September 2030.
INSERT INTO session VALUES
('robin', 1, 1915000000),
('mira', 1, 1915000000),
('tomasz', 1, 1915000000),
('adaeze', 1, 1915000000),
('yuki', 1, 1915000000),
('lena', 1, 1915000000),
('oskar', 1, 1915000000),
('priya', 1, 1915000000);

INSERT INTO session_attribute VALUES
('robin', 1, 'name', 'Robin Hale'),
('mira', 1, 'name', 'Mira Stensund'),
('tomasz', 1, 'name', 'Tomasz Wilk'),
('adaeze', 1, 'name', 'Adaeze Obi'),
('yuki', 1, 'name', 'Yuki Arai'),
('lena', 1, 'name', 'Lena Brandt'),
('oskar', 1, 'name', 'Oskar Falk'),
('priya', 1, 'name', 'Priya Nair');

INSERT INTO permission VALUES
('authenticated', 'TICKET_ADMIN'),
('authenticated', 'MILESTONE_ADMIN'),
('authenticated', 'WIKI_RENAME'),
('authenticated', 'WIKI_DELETE'),
('authenticated', 'REPORT_CREATE');

-- Components, with their owners.
INSERT INTO component VALUES
('tide-tables', 'mira', ''),
('tide-charts', 'yuki', ''),
('berth-plan', 'tomasz', ''),
('billing', 'adaeze', ''),
('importer', 'priya', ''),
('importer-legacy', 'oskar', ''),
('notifications', 'lena', ''),
('web-view', 'robin', ''),
('documentation', 'lena', '');

-- Versions and milestones. Each is due or done at noon.
INSERT INTO version VALUES
('0.7', '2028-05-02', ''),
('0.8', '2029-11-20', ''),
('0.8.1', '2030-06-11', ''),
('0.9-beta', '2031-02-24', '');

UPDATE version SET time = strftime('%s', time || ' 12:00') * 1000000;

INSERT INTO milestone (name, due, completed, description) VALUES
('0.8 Breakwater', '2029-11-15', '2029-11-20', 'Bookings over the network.'),
('0.9 Lighthouse', '2031-04-30', '', 'The new importer, and invoices that everybody can read.'),
('0.9.1 Lighthouse fixes', '2031-06-15', '', 'What turns up after 0.9.'),
('1.0 Harbour', '2031-10-01', '', 'Everything an office needs in one place.'),
('Someday', '', '', 'Good ideas without a date.');

UPDATE milestone SET due = coalesce(strftime('%s', due || ' 12:00') * 1000000, 0);
UPDATE milestone SET completed = coalesce(strftime('%s', completed || ' 12:00') * 1000000, 0);

-- Reports. The last value is the condition on tickets, and the UPDATE statement completes the query.
INSERT INTO report (author, title, description, query) VALUES
('mira', 'Blockers', 'Tickets that stop a release.', 'priority = ''blocker'' AND status <> ''closed'''),
('mira', 'Blockers of all time', 'Closed ones, too.', 'priority = ''blocker'''),
('mira', 'Nobody''s tickets', 'Tickets without an owner.', 'coalesce(owner, '''') = '''' AND status <> ''closed''');

UPDATE report SET query =
'SELECT p.value AS __color__, t.id AS ticket, t.summary, t.component, t.milestone, t.owner, t.status
  FROM ticket t LEFT JOIN enum p ON p.name = t.priority AND p.type = ''priority''
  WHERE ' || query || ' ORDER BY t.id'
WHERE author = 'mira';

-- Wiki pages. The first was written at the time 1915000000, and each other page one hour after the last.
INSERT INTO wiki (time, name, text) VALUES
(0, 'Archive/HarbourList2029', '= Harbours that used Tidemark in 2029 =

||=Harbour =||= Berths =||= Depth =||= Harbour master =||
|| Vellsand || 132 || 3.2 m || Ingrid Solberg ||
|| Odderness || 80 || 2.4 m || Per Aasen ||
|| Kesterholm || 190 || 4.1 m || Anders Vik ||'),

(1, 'Archive/PortFees2030', '= Port fees 2030 =

''''''This page is out of date.'''''' It is kept for the record. The fees in force are at [wiki:Fees/Table2031 Port fees 2031].

All in crowns for one night.

||=Length =||= Summer =||= Winter =||
|| up to 8 m || 140 || 70 ||
|| 8 to 12 m || 190 || 95 ||
|| 12 to 16 m || 260 || 130 ||
|| over 16 m || 340 || 170 ||'),

(2, 'Archive/Stations2030', '= Tide stations 2030 =

''''''This page is out of date.'''''' Two stations were renumbered since; the valid list is at [wiki:TideStations Tide stations].

||=Harbour =||= Station =||= Offset =||
|| Vellsand || N-204 || +0:10 ||
|| Odderness || N-211 || -0:25 ||
|| Kesterholm || N-230 || +0:40 ||'),

(3, 'Components', '= Components and what they are for =

||=Component =||= What it does =||
|| tide-tables || Computes and prints the tables of high and low water ||
|| tide-charts || Draws the curves ||
|| berth-plan || Shows which boat lies where ||
|| billing || Invoices, fees, taxes ||
|| importer || Reads bookings from files, in use since 2028 ||
|| importer-legacy || Reads the files of the years before, kept for the archives ||
|| notifications || Mails and text messages ||
|| web-view || All pages in the browser ||
|| documentation || Manual, quick guide, films ||'),

(4, 'Contacts/Offices', '= Harbour offices =

||=Office =||= Phone =||= Hours =||
|| Vellsand || 7730 118 || 8 to 17 ||
|| Odderness || 7731 462 || 9 to 16 ||
|| Kesterholm || 7735 906 || 7 to 20 ||
|| Brannhaven || 7738 075 || 8 to 14 ||
|| Sund Eyot || 7739 640 || 10 to 13 ||

Outside these hours the line is answered by whoever is on call, see OnCall.'),

(5, 'Fees/Table2031', '= Port fees 2031 =

All in crowns for one night.

||=Length =||= Summer =||= Winter =||
|| up to 8 m || 155 || 75 ||
|| 8 to 12 m || 215 || 105 ||
|| 12 to 16 m || 290 || 145 ||
|| over 16 m || 385 || 190 ||

Electricity is charged apart, 4.50 a kilowatt hour.'),

(6, 'FrequentQuestions', '= Frequent questions =

== Can two offices share one plan? ==
Yes, with the same licence.

== How long are bookings kept? ==
Seven years, then they are made anonymous.

== Which printers work? ==
Any that the system knows. For receipts we test with the Marlin R2.'),

(7, 'Glossary', '= Glossary =

 Berth:: place for one boat
 Draught:: how deep a boat reaches into the water
 Neap tide:: the tide with the smallest range
 Spring tide:: the tide with the largest range
 Slack water:: the time when the water does not move'),

(8, 'HarbourList', '= Harbours that use Tidemark =

||=Harbour =||= Berths =||= Depth =||= Harbour master =||= Since =||
|| Vellsand || 148 || 3.2 m || Ingrid Solberg || 0.6 ||
|| Odderness || 86 || 2.4 m || Per Aasen || 0.7 ||
|| Kesterholm || 212 || 4.1 m || Marta Lind || 0.6 ||
|| Brannhaven || 64 || 2.1 m || Jonas Birk || 0.8 ||
|| Sund Eyot || 37 || 1.8 m || Ellen Moe || 0.8.1 ||
|| Tarnvik || 95 || 2.9 m || Sofie Dahl || 0.9-beta ||

The numbers of 2029 are kept at [wiki:Archive/HarbourList2029].'),

(9, 'ImportFormats', '= Import formats =

||=Field =||= Meaning =||= Needed =||
|| boat || name of the boat || yes ||
|| length || in metres || yes ||
|| draught || in metres || no ||
|| arrival || day, year first || yes ||
|| nights || a whole number || yes ||
|| phone || with the country code || no ||

The separator is a semicolon. At most 20,000 lines a file.'),

(10, 'Install', '= Installing Tidemark =

 1. Get the package of your system.
 1. Start the server; it listens on port 8127.
 1. Open the page in a browser and type in the licence of your harbour.

To start it at boot, see [wiki:InstallService].'),

(11, 'InstallService', '= Tidemark as a service =

The service is called `tidemark-office`. It needs 512 MB of memory and writes its log to `/var/log/tidemark`.'),

(12, 'Meetings/February', '= February 2031 =

Present: robin, mira, yuki, priya, adaeze.

 * 0.9 is named Lighthouse.
 * Yuki tries out the new drawing library.
 * The budget for text messages is 900 crowns a month.'),

(13, 'Meetings/January', '= January 2031 =

Present: mira, tomasz, lena, oskar.

 * The old importer stays until the autumn.
 * Adaeze writes to the tax office.'),

(14, 'Meetings/March', '= March 2031 =

Present: robin, tomasz, lena, priya.

 * The budget for text messages is raised to 1,250 crowns a month.
 * Priya shows the preview of the importer in April.'),

(15, 'Meetings', '= Minutes of the meetings =

 * [wiki:Meetings/January January 2031]
 * [wiki:Meetings/February February 2031]
 * [wiki:Meetings/March March 2031]'),

(16, 'NotesOnNightArrivals', '= Notes on night arrivals =

Boats that arrive after 22:00 take any green berth. The film about this is not made yet.'),

(17, 'OfficePhones', '= Phone numbers =

''''''This page is out of date.'''''' The numbers moved to [wiki:Contacts/Offices Harbour offices] in the summer of 2030.

||=Office =||= Phone =||= Hours =||
|| Vellsand || 5510 221 || 8 to 16 ||
|| Odderness || 5512 804 || 9 to 15 ||
|| Kesterholm || 5517 350 || 7 to 19 ||'),

(18, 'OnCall', '= Who is on call =

||=Week =||= Person =||= Stand-in =||
|| 11 || mira || oskar ||
|| 12 || tomasz || priya ||
|| 13 || adaeze || lena ||
|| 14 || yuki || robin ||'),

(19, 'RecentChanges', '= Recent changes =

[[RecentChanges]]'),

(20, 'ReleaseChecklist', '= Release checklist =

 1. All blockers of the milestone are closed.
 1. The tide tables are compared with the hydrographic office.
 1. The release notes are proof-read by Lena.
 1. The package is tried in Brannhaven for two days.
 1. The release manager is Oskar.'),

(21, 'Stations', '= Tide stations =

''''''This page is out of date.'''''' See [wiki:Archive/Stations2030 the list of stations].'),

(22, 'StyleGuide', '= Style guide =

Lines end at 100 characters. Names are English. Dates are written year first.

Every message to a skipper is read aloud once before it is merged.'),

(23, 'TideStations', '= Tide stations =

||=Harbour =||= Station =||= Offset =||
|| Vellsand || N-204 || +0:10 ||
|| Odderness || N-318 || -0:20 ||
|| Kesterholm || N-335 || +0:45 ||
|| Brannhaven || N-219 || +0:05 ||'),

(24, 'TitleIndex', '= Index by title =

[[TitleIndex]]'),

(25, 'WikiStart', '= Welcome to Tidemark =

Tidemark is the program with which small harbours keep their berths, tides and invoices. This wiki is for those who make it and for those who help the harbour offices.

== For the harbour offices ==
 * [wiki:HarbourList Harbours that use Tidemark]
 * [wiki:Archive/PortFees2030 Port fees]
 * [wiki:OfficePhones Phone numbers]
 * [wiki:Stations Tide stations]
 * [wiki:Install Installing Tidemark]
 * [wiki:FrequentQuestions Frequent questions]

== For developers ==
 * [wiki:ReleaseChecklist Release checklist]
 * [wiki:Components Components and what they are for]
 * [wiki:ImportFormats Import formats]
 * [wiki:StyleGuide Style guide]
 * [wiki:OnCall Who is on call]
 * [wiki:Meetings Minutes of the meetings]
 * [wiki:Glossary Glossary]');

UPDATE wiki
SET time = (1915000000 + time * 3600) * 1000000, version = 1, author = 'mira', comment = '', readonly = 0;

-- Tickets. Ticket n was created 37 * n hours after the time 1915000000.
INSERT INTO ticket (id, type, component, priority, owner, reporter, version, milestone, status, resolution, summary, description, keywords) VALUES
(1, 'defect', 'notifications', 'trivial', 'lena', 'lena', '0.8', '', 'accepted', '', 'Greeting uses the boat''s name as the skipper''s', 'Since the update to 0.8 this is wrong in Brannhaven; before that it was right.', 'mobile'),
(2, 'defect', 'notifications', 'major', 'lena', 'mira', '0.8', '0.8 Breakwater', 'closed', 'worksforme', 'Reminder is sent after the boat has left', 'Reported by the harbour office of Sund Eyot. It happens about once a week.', ''),
(3, 'task', 'web-view', 'major', 'robin', 'harbour-odderness', '', '0.9 Lighthouse', 'accepted', '', 'Move the style sheets into one file', 'Somebody has to do it; Odderness is waiting.', 'dates'),
(4, 'defect', 'importer-legacy', 'blocker', 'lena', 'harbour-kesterholm', '0.8', '1.0 Harbour', 'accepted', '', 'Old importer cannot be started twice in a row', 'Found in Sund Eyot while training new staff. A workaround is not known.', ''),
(5, 'defect', 'berth-plan', 'critical', 'mira', 'lena', '0.9-beta', '0.9 Lighthouse', 'accepted', '', 'Berths longer than 20 metres are drawn too short', 'Steps: open the page, choose Kesterholm, and look at the result.', ''),
(6, 'task', 'berth-plan', 'major', 'mira', 'oskar', '', '0.9 Lighthouse', 'new', '', 'Measure how long the plan takes to open with 400 berths', 'Agreed at the meeting with Brannhaven.', 'printing'),
(7, 'defect', 'web-view', 'major', 'robin', 'tomasz', '0.8.1', '', 'closed', 'wontfix', 'Map tiles are blurred on tablets', 'Reported by the harbour office of Brannhaven. It happens about once a week.', ''),
(8, 'defect', 'web-view', 'minor', 'robin', 'yuki', '0.8.1', '1.0 Harbour', 'assigned', '', 'Search for a boat ignores the second word', 'Reported by the harbour office of Brannhaven. It happens about once a week.', ''),
(9, 'enhancement', 'berth-plan', 'trivial', 'tomasz', 'harbour-kesterholm', '', '0.9 Lighthouse', 'closed', 'fixed', 'Drag a booking to another berth', 'Three harbours would like this, Odderness among them.', 'numbers'),
(10, 'defect', 'importer', 'major', 'priya', 'harbour-vellsand', '0.8.1', '1.0 Harbour', 'new', '', 'Importer stops at an empty line', 'Found in Odderness while training new staff. A workaround is not known.', 'numbers'),
(11, 'defect', 'importer', 'major', 'priya', 'harbour-kesterholm', '0.8.1', '0.9 Lighthouse', 'assigned', '', 'Lengths in feet are imported as metres', 'Seen in Sund Eyot with version 0.8.1. It happens every time.', 'dates'),
(12, 'defect', 'importer', 'major', 'priya', 'robin', '0.8', '0.9 Lighthouse', 'accepted', '', 'Import of more than 5,000 bookings runs out of memory', 'Since the update to 0.8 this is wrong in Vellsand; before that it was right.', ''),
(13, 'enhancement', 'billing', 'minor', 'lena', 'lena', '', 'Someday', 'new', '', 'Export invoices for the tax office', 'Asked for by the harbour office of Vellsand.', 'numbers'),
(14, 'enhancement', 'notifications', 'trivial', 'tomasz', 'harbour-odderness', '', '0.9.1 Lighthouse fixes', 'new', '', 'Send gale warnings to boats in harbour', 'Three harbours would like this, Kesterholm among them.', ''),
(15, 'defect', 'berth-plan', 'major', 'tomasz', 'harbour-odderness', '0.8', '0.8 Breakwater', 'closed', 'invalid', 'Plan shows yesterday''s bookings after midnight', 'Reported by the harbour office of Kesterholm. It happens about once a week.', ''),
(16, 'enhancement', 'berth-plan', 'major', 'tomasz', 'robin', '', '', 'accepted', '', 'Show the depth of each berth at low water', 'Three harbours would like this, Brannhaven among them.', 'numbers'),
(17, 'defect', 'web-view', 'major', 'robin', 'harbour-kesterholm', '0.8.1', '1.0 Harbour', 'accepted', '', 'Language switch resets the form', 'Seen in Kesterholm with version 0.8.1. It happens every time.', ''),
(18, 'enhancement', 'tide-charts', 'major', 'yuki', 'tomasz', '', '0.9 Lighthouse', 'accepted', '', 'Zoom the curve with the mouse wheel', 'Three harbours would like this, Vellsand among them.', 'printing'),
(19, 'defect', 'importer-legacy', 'major', 'oskar', 'harbour-vellsand', '0.8.1', '0.9 Lighthouse', 'new', '', 'Old importer reads the wrong time zone', 'Reported by the harbour office of Kesterholm. It happens about once a week.', 'season'),
(20, 'task', 'importer', 'minor', 'robin', 'tomasz', '', '', 'closed', 'fixed', 'Write sample files for every format', 'To be done before the season begins in Odderness.', 'season'),
(21, 'defect', 'web-view', 'trivial', 'robin', 'harbour-vellsand', '0.8.1', '1.0 Harbour', 'assigned', '', 'Footer covers the save button on small screens', 'Steps: open the page, choose Brannhaven, and look at the result.', ''),
(22, 'defect', 'notifications', 'minor', 'mira', 'harbour-vellsand', '0.9-beta', '1.0 Harbour', 'accepted', '', 'Text messages are cut at 70 characters', 'Found in Kesterholm while training new staff. A workaround is not known.', ''),
(23, 'enhancement', 'documentation', 'minor', 'tomasz', 'harbour-odderness', '', '0.9.1 Lighthouse fixes', 'assigned', '', 'Short film about arriving at night', 'Three harbours would like this, Brannhaven among them.', 'numbers'),
(24, 'enhancement', 'billing', 'trivial', 'mira', 'yuki', '', '0.9 Lighthouse', 'assigned', '', 'Discount for the tenth night', 'Asked for by the harbour office of Kesterholm.', 'numbers'),
(25, 'task', 'tide-tables', 'major', 'mira', 'harbour-odderness', '', '', 'new', '', 'Remove the unused station list', 'Somebody has to do it; Odderness is waiting.', ''),
(26, 'defect', 'importer-legacy', 'trivial', 'oskar', 'lena', '0.7', 'Someday', 'new', '', 'Old importer crashes on files from 2019', 'Reported by the harbour office of Odderness. It happens about once a week.', ''),
(27, 'enhancement', 'notifications', 'minor', 'lena', 'harbour-odderness', '', '0.9 Lighthouse', 'reopened', '', 'Let skippers choose e-mail or text message', 'Asked for by the harbour office of Sund Eyot.', ''),
(28, 'enhancement', 'berth-plan', 'major', 'tomasz', 'lena', '', '0.9 Lighthouse', 'closed', 'fixed', 'Waiting list for full nights', 'Asked for by the harbour office of Odderness.', ''),
(29, 'defect', 'berth-plan', 'minor', 'tomasz', 'yuki', '0.9-beta', '0.8 Breakwater', 'closed', 'fixed', 'Cancelled bookings stay on the plan until midnight', 'Since the update to 0.9-beta this is wrong in Brannhaven; before that it was right.', ''),
(30, 'defect', 'tide-tables', 'major', 'priya', 'lena', '0.8.1', '0.9 Lighthouse', 'new', '', 'Low water shown twice on the day the clocks change', 'Found in Kesterholm while training new staff. A workaround is not known.', 'mobile'),
(31, 'enhancement', 'billing', 'major', 'adaeze', 'harbour-kesterholm', '', '0.9 Lighthouse', 'new', '', 'Pay by bank transfer from the booking page', 'Three harbours would like this, Odderness among them.', 'dates'),
(32, 'defect', 'importer-legacy', 'major', 'oskar', 'lena', '0.8.1', '0.9 Lighthouse', 'new', '', 'Old importer writes its log into the data folder', 'Seen in Sund Eyot with version 0.8.1. It happens every time.', ''),
(33, 'enhancement', 'importer', 'trivial', 'oskar', 'yuki', '', '1.0 Harbour', 'accepted', '', 'Import bookings from a spreadsheet', 'Asked for by the harbour office of Vellsand.', 'dates'),
(34, 'defect', 'web-view', 'trivial', 'robin', 'harbour-vellsand', '0.9-beta', '0.9 Lighthouse', 'accepted', '', 'Session ends while a booking is being typed', 'Found in Odderness while training new staff. A workaround is not known.', 'dates'),
(35, 'enhancement', 'tide-tables', 'major', 'oskar', 'robin', '', '', 'new', '', 'Keep tables of past years', 'Three harbours would like this, Brannhaven among them.', 'printing'),
(36, 'enhancement', 'web-view', 'major', 'robin', 'harbour-kesterholm', '', 'Someday', 'new', '', 'Dark theme for the night watch', 'Three harbours would like this, Sund Eyot among them.', ''),
(37, 'enhancement', 'tide-tables', 'minor', 'mira', 'oskar', '', '0.8 Breakwater', 'closed', 'invalid', 'Offer the table as a calendar file', 'Asked for by the harbour office of Sund Eyot.', 'printing'),
(38, 'task', 'billing', 'major', 'adaeze', 'harbour-vellsand', '', '1.0 Harbour', 'assigned', '', 'Retire the old price list', 'To be done before the season begins in Odderness.', ''),
(39, 'defect', 'billing', 'trivial', 'robin', 'lena', '0.8', '0.9 Lighthouse', 'new', '', 'Monthly report leaves out refunds', 'Since the update to 0.8 this is wrong in Kesterholm; before that it was right.', 'printing'),
(40, 'task', 'importer-legacy', 'major', 'oskar', 'harbour-odderness', '', '0.8 Breakwater', 'closed', 'fixed', 'Decide when to switch the old importer off', 'To be done before the season begins in Vellsand.', 'dates'),
(41, 'task', 'documentation', 'critical', 'lena', 'oskar', '', '1.0 Harbour', 'accepted', '', 'Document the fields of the import file', 'Somebody has to do it; Vellsand is waiting.', ''),
(42, 'enhancement', 'documentation', 'major', 'adaeze', 'oskar', '', '', 'new', '', 'Add an index to the manual', 'Asked for by the harbour office of Vellsand.', ''),
(43, 'defect', 'documentation', 'major', 'lena', 'yuki', '0.8.1', '0.8 Breakwater', 'closed', 'fixed', 'Glossary explains neap tides the wrong way round', 'Since the update to 0.8.1 this is wrong in Vellsand; before that it was right.', 'printing'),
(44, 'defect', 'importer', 'trivial', 'priya', 'mira', '0.7', '', 'closed', 'fixed', 'Importer accepts dates in the past', 'Steps: open the page, choose Vellsand, and look at the result.', 'printing'),
(45, 'enhancement', 'berth-plan', 'major', 'tomasz', 'lena', '', '0.9.1 Lighthouse fixes', 'new', '', 'Colour berths by length of stay', 'Three harbours would like this, Vellsand among them.', ''),
(46, 'enhancement', 'tide-tables', 'minor', 'mira', 'robin', '', '', 'accepted', '', 'Let harbours choose feet or metres', 'Three harbours would like this, Sund Eyot among them.', ''),
(47, 'defect', 'notifications', 'major', 'tomasz', 'harbour-odderness', '0.9-beta', '1.0 Harbour', 'new', '', 'Harbour master gets no copy of a cancellation', 'Reported by the harbour office of Kesterholm. It happens about once a week.', ''),
(48, 'defect', 'tide-tables', 'major', 'yuki', 'harbour-vellsand', '0.8.1', '1.0 Harbour', 'new', '', 'Spring tides are not marked after the update to 0.8.1', 'Reported by the harbour office of Kesterholm. It happens about once a week.', 'dates'),
(49, 'defect', 'notifications', 'critical', 'oskar', 'oskar', '0.8', '1.0 Harbour', 'accepted', '', 'Mails to several addresses reach only the first', 'Reported by the harbour office of Sund Eyot. It happens about once a week.', 'numbers'),
(50, 'defect', 'berth-plan', 'major', 'robin', 'tomasz', '0.7', '0.9 Lighthouse', 'closed', 'fixed', 'Plan of Odderness shows the old fuel jetty', 'Since the update to 0.7 this is wrong in Sund Eyot; before that it was right.', 'dates'),
(51, 'defect', 'documentation', 'major', '', 'mira', '0.8', '1.0 Harbour', 'new', '', 'Link to the fee table leads nowhere', 'Seen in Odderness with version 0.8. It happens every time.', ''),
(52, 'enhancement', 'importer-legacy', 'major', 'lena', 'harbour-kesterholm', '', '', 'closed', 'wontfix', 'Warn that the old importer is going away', 'Would save the office in Sund Eyot some work every morning.', 'mobile'),
(53, 'defect', 'importer', 'major', '', 'harbour-vellsand', '0.8.1', '1.0 Harbour', 'new', '', 'Duplicate boats after importing the same file twice', 'Found in Vellsand while training new staff. A workaround is not known.', 'season'),
(54, 'defect', 'notifications', 'minor', 'lena', 'harbour-odderness', '0.8.1', '', 'closed', 'worksforme', 'Gale warning test mode sends real messages', 'Steps: open the page, choose Sund Eyot, and look at the result.', 'numbers'),
(55, 'defect', 'tide-tables', 'critical', '', 'mira', '0.8', '1.0 Harbour', 'new', '', 'Table is empty for harbours without a station number', 'Reported by the harbour office of Brannhaven. It happens about once a week.', ''),
(56, 'defect', 'documentation', 'critical', 'lena', 'mira', '0.8', '0.8 Breakwater', 'closed', 'fixed', 'Installation page names the wrong port', 'Reported by the harbour office of Brannhaven. It happens about once a week.', ''),
(57, 'defect', 'billing', 'minor', 'adaeze', 'mira', '0.8', '', 'closed', 'invalid', 'Tourist tax is missing for crew above four', 'Seen in Brannhaven with version 0.8. It happens every time.', 'printing'),
(58, 'task', 'documentation', 'major', 'lena', 'lena', '', '0.8 Breakwater', 'closed', 'invalid', 'Translate the quick guide into Danish', 'To be done before the season begins in Vellsand.', ''),
(59, 'task', 'billing', 'major', 'adaeze', 'mira', '', '1.0 Harbour', 'accepted', '', 'Agree on invoice numbers for the new year', 'Somebody has to do it; Odderness is waiting.', 'printing'),
(60, 'defect', 'tide-charts', 'major', 'yuki', 'tomasz', '0.9-beta', '', 'closed', 'fixed', 'Chart legend hides the current height', 'Since the update to 0.9-beta this is wrong in Vellsand; before that it was right.', 'mobile'),
(61, 'defect', 'tide-charts', 'trivial', 'oskar', 'harbour-vellsand', '0.8.1', '0.9.1 Lighthouse fixes', 'new', '', 'Chart of two days overlaps on narrow screens', 'Steps: open the page, choose Sund Eyot, and look at the result.', 'mobile'),
(62, 'task', 'tide-charts', 'minor', 'tomasz', 'harbour-kesterholm', '', '0.9.1 Lighthouse fixes', 'accepted', '', 'Replace the drawing library', 'Somebody has to do it; Odderness is waiting.', ''),
(63, 'task', 'tide-tables', 'minor', 'mira', 'harbour-kesterholm', '', '', 'closed', 'fixed', 'Check the 2031 tables against the hydrographic office', 'To be done before the season begins in Brannhaven.', 'dates'),
(64, 'defect', 'berth-plan', 'blocker', 'tomasz', 'tomasz', '0.9-beta', '0.9 Lighthouse', 'accepted', '', 'Two boats can be booked on the same berth on one night', 'Reported by the harbour office of Brannhaven. It happens about once a week.', 'mobile'),
(65, 'defect', 'tide-charts', 'minor', 'yuki', 'harbour-kesterholm', '0.9-beta', '0.8 Breakwater', 'closed', 'fixed', 'Chart axis shows local time, title shows UTC', 'Steps: open the page, choose Brannhaven, and look at the result.', ''),
(66, 'defect', 'tide-charts', 'major', 'yuki', 'lena', '0.8', '', 'new', '', 'Curve has a kink at midnight', 'Found in Odderness while training new staff. A workaround is not known.', 'mobile'),
(67, 'defect', 'web-view', 'blocker', 'robin', 'tomasz', '0.8', '1.0 Harbour', 'assigned', '', 'Back button loses the chosen dates', 'Since the update to 0.8 this is wrong in Odderness; before that it was right.', 'season'),
(68, 'task', 'documentation', 'trivial', 'adaeze', 'oskar', '', '', 'closed', 'fixed', 'Describe the booking rules for groups', 'Agreed at the meeting with Vellsand.', 'dates'),
(69, 'enhancement', 'tide-charts', 'major', '', 'yuki', '', 'Someday', 'new', '', 'Print the chart below the table', 'Three harbours would like this, Brannhaven among them.', 'numbers'),
(70, 'defect', 'importer-legacy', 'minor', 'oskar', 'oskar', '0.8.1', '', 'closed', 'invalid', 'Old importer loses phone numbers', 'Seen in Vellsand with version 0.8.1. It happens every time.', ''),
(71, 'defect', 'billing', 'major', 'adaeze', 'mira', '0.8.1', '', 'closed', 'fixed', 'Price for catamarans is rounded down', 'Seen in Sund Eyot with version 0.8.1. It happens every time.', 'numbers'),
(72, 'defect', 'tide-tables', 'major', 'tomasz', 'yuki', '0.8', '1.0 Harbour', 'new', '', 'Secondary port correction ignores negative offsets', 'Steps: open the page, choose Odderness, and look at the result.', ''),
(73, 'task', 'berth-plan', 'major', 'tomasz', 'mira', '', '', 'closed', 'fixed', 'Import the new pontoon plan of Vellsand', 'Somebody has to do it; Sund Eyot is waiting.', 'mobile'),
(74, 'task', 'documentation', 'major', 'mira', 'robin', '', '1.0 Harbour', 'assigned', '', 'List the harbours that use Tidemark', 'Agreed at the meeting with Vellsand.', ''),
(75, 'defect', 'importer', 'minor', 'priya', 'harbour-vellsand', '0.9-beta', '0.9 Lighthouse', 'new', '', 'Column order matters although the manual says otherwise', 'Found in Vellsand while training new staff. A workaround is not known.', ''),
(76, 'defect', 'tide-tables', 'minor', 'mira', 'oskar', '0.8.1', '1.0 Harbour', 'reopened', '', 'Heights are rounded to whole metres in the printed table', 'Since the update to 0.8.1 this is wrong in Odderness; before that it was right.', 'mobile'),
(77, 'defect', 'web-view', 'major', 'lena', 'tomasz', '0.7', '', 'new', '', 'Page of a booking takes ten seconds to load', 'Reported by the harbour office of Kesterholm. It happens about once a week.', ''),
(78, 'defect', 'tide-charts', 'major', 'priya', 'lena', '0.9-beta', '0.8 Breakwater', 'closed', 'fixed', 'Wrong colour for slack water in the dark theme', 'Seen in Brannhaven with version 0.9-beta. It happens every time.', ''),
(79, 'defect', 'tide-tables', 'critical', 'robin', 'yuki', '0.7', '', 'new', '', 'Printed table cuts off the last column on A5 paper', 'Since the update to 0.7 this is wrong in Kesterholm; before that it was right.', ''),
(80, 'defect', 'notifications', 'minor', '', 'tomasz', '0.8.1', '0.9 Lighthouse', 'new', '', 'Reminder mail has no link to the booking', 'Seen in Vellsand with version 0.8.1. It happens every time.', ''),
(81, 'enhancement', 'web-view', 'minor', 'tomasz', 'harbour-odderness', '', '0.8 Breakwater', 'closed', 'duplicate', 'Keyboard shortcuts for the harbour office', 'Three harbours would like this, Vellsand among them.', ''),
(82, 'defect', 'berth-plan', 'major', 'mira', 'yuki', '0.8', '0.9 Lighthouse', 'new', '', 'Plan does not open in a second window', 'Reported by the harbour office of Odderness. It happens about once a week.', 'season'),
(83, 'defect', 'billing', 'major', 'mira', 'yuki', '0.8', '0.9 Lighthouse', 'assigned', '', 'Invoices use a comma where Danish harbours need a point', 'Steps: open the page, choose Brannhaven, and look at the result.', 'dates'),
(84, 'defect', 'billing', 'minor', '', 'yuki', '0.8.1', '1.0 Harbour', 'new', '', 'Receipt printer prints an empty page first', 'Reported by the harbour office of Brannhaven. It happens about once a week.', ''),
(85, 'defect', 'web-view', 'major', 'yuki', 'harbour-kesterholm', '0.8', '1.0 Harbour', 'new', '', 'Phone numbers are not clickable', 'Since the update to 0.8 this is wrong in Brannhaven; before that it was right.', 'dates'),
(86, 'enhancement', 'tide-charts', 'minor', 'mira', 'harbour-odderness', '', '', 'closed', 'wontfix', 'Mark the visitor''s draught on the curve', 'Would save the office in Sund Eyot some work every morning.', 'printing'),
(87, 'enhancement', 'importer', 'minor', 'priya', 'tomasz', '', '0.9.1 Lighthouse fixes', 'new', '', 'Undo the last import', 'Would save the office in Vellsand some work every morning.', ''),
(88, 'defect', 'tide-tables', 'minor', 'adaeze', 'mira', '0.8', '0.9 Lighthouse', 'assigned', '', 'Table for Kesterholm starts at noon instead of midnight', 'Since the update to 0.8 this is wrong in Kesterholm; before that it was right.', 'season'),
(89, 'enhancement', 'web-view', 'major', 'robin', 'tomasz', '', '0.9 Lighthouse', 'new', '', 'Show who else is editing a booking', 'Three harbours would like this, Kesterholm among them.', 'printing'),
(90, 'defect', 'berth-plan', 'major', 'tomasz', 'robin', '0.8.1', '0.9.1 Lighthouse fixes', 'new', '', 'Winter storage is offered in July', 'Reported by the harbour office of Kesterholm. It happens about once a week.', ''),
(91, 'enhancement', 'tide-tables', 'major', 'mira', 'harbour-odderness', '', '0.9.1 Lighthouse fixes', 'new', '', 'Show the range between high and low water in the table', 'Three harbours would like this, Brannhaven among them.', ''),
(92, 'task', 'documentation', 'minor', 'yuki', 'harbour-vellsand', '', '0.9 Lighthouse', 'new', '', 'Proof-read the release notes of 0.9', 'To be done before the season begins in Sund Eyot.', 'season'),
(93, 'defect', 'web-view', 'major', 'robin', 'harbour-odderness', '0.8', '0.9.1 Lighthouse fixes', 'new', '', 'Booking form accepts a departure before the arrival', 'Seen in Odderness with version 0.8. It happens every time.', ''),
(94, 'defect', 'billing', 'major', 'oskar', 'harbour-odderness', '0.7', '0.9 Lighthouse', 'accepted', '', 'Invoice counts the night of departure', 'Steps: open the page, choose Sund Eyot, and look at the result.', ''),
(95, 'task', 'notifications', 'minor', 'lena', 'harbour-odderness', '', 'Someday', 'assigned', '', 'Renew the contract with the text message provider', 'To be done before the season begins in Sund Eyot.', 'printing'),
(96, 'defect', 'billing', 'minor', 'lena', 'harbour-odderness', '0.8', '0.8 Breakwater', 'closed', 'fixed', 'Electricity is billed twice when a boat changes berth', 'Seen in Vellsand with version 0.8. It happens every time.', ''),
(97, 'defect', 'documentation', 'minor', 'lena', 'harbour-kesterholm', '0.8', 'Someday', 'accepted', '', 'Manual still shows the icons of 0.7', 'Since the update to 0.8 this is wrong in Odderness; before that it was right.', 'dates'),
(98, 'enhancement', 'notifications', 'major', 'lena', 'yuki', '', '', 'new', '', 'Weekly summary for harbour masters', 'Three harbours would like this, Brannhaven among them.', 'numbers'),
(99, 'enhancement', 'importer', 'major', 'mira', 'robin', '', 'Someday', 'accepted', '', 'Show a preview before importing', 'Three harbours would like this, Vellsand among them.', 'mobile'),
(100, 'defect', 'tide-charts', 'major', 'lena', 'harbour-kesterholm', '0.8.1', '0.9 Lighthouse', 'closed', 'worksforme', 'Curve is missing when wind data is switched on', 'Reported by the harbour office of Kesterholm. It happens about once a week.', ''),
(101, 'defect', 'berth-plan', 'blocker', 'tomasz', 'tomasz', '0.7', '1.0 Harbour', 'assigned', '', 'Berth numbers overlap at the smallest zoom', 'Steps: open the page, choose Odderness, and look at the result.', 'mobile'),
(102, 'defect', 'billing', 'major', 'adaeze', 'tomasz', '0.8.1', '', 'closed', 'fixed', 'Refund of a deposit is shown as a payment', 'Found in Kesterholm while training new staff. A workaround is not known.', 'season'),
(103, 'defect', 'importer', 'critical', 'yuki', 'yuki', '0.8.1', '', 'closed', 'duplicate', 'Boat names with umlauts are garbled on import', 'Since the update to 0.8.1 this is wrong in Brannhaven; before that it was right.', ''),
(104, 'defect', 'importer', 'critical', 'yuki', 'harbour-odderness', '0.8.1', '0.9 Lighthouse', 'assigned', '', 'Letters outside ASCII break boat and skipper names', 'Every file that was not saved as UTF-8 is concerned.', ''),
(105, 'defect', 'importer', 'major', 'priya', 'lena', '0.8.1', '', 'closed', 'duplicate', 'Names come out garbled', 'Seen in the list of arrivals.', ''),
(106, 'enhancement', 'web-view', 'minor', 'robin', 'mira', '', '', 'closed', 'duplicate', 'Work without a mouse', 'Our mouse does not like salt water.', ''),
(107, 'enhancement', 'web-view', 'major', 'adaeze', 'tomasz', '', '1.0 Harbour', 'accepted', '', 'Operate every page from the keyboard', 'All pages, not only the booking form.', ''),
(108, 'defect', 'tide-tables', 'minor', 'mira', 'yuki', '0.7', '0.8 Breakwater', 'closed', 'fixed', 'Printed table cuts off the last column', 'On A4 paper, portrait.', 'printing');

UPDATE ticket SET time = (1915000000 + id * 37 * 3600) * 1000000;

-- Comments. The second value is the number of the comment, and comments are 5 hours apart. A closed ticket was closed with
-- its last comment.
INSERT INTO ticket_change (ticket, time, author, field, oldvalue, newvalue) VALUES
(1, 1, 'tomasz', 'comment', '1', 'Talked about it at the monthly meeting.'),
(2, 1, 'lena', 'comment', '1', 'Cannot repeat it with a fresh installation.'),
(2, 1, 'lena', 'status', 'new', 'closed'),
(2, 1, 'lena', 'resolution', '', 'worksforme'),
(3, 1, 'mira', 'comment', '1', 'Please add a screenshot.'),
(6, 1, 'mira', 'comment', '1', 'Talked about it at the monthly meeting.'),
(7, 1, 'robin', 'comment', '1', 'We draw no maps ourselves, the tiles come as they are.'),
(7, 2, 'robin', 'comment', '2', 'We will not do this; the effort is too high.'),
(7, 2, 'robin', 'status', 'new', 'closed'),
(7, 2, 'robin', 'resolution', '', 'wontfix'),
(8, 1, 'mira', 'comment', '1', 'Still the same with the newest build.'),
(9, 1, 'tomasz', 'comment', '1', 'Done, will be in the next release.'),
(9, 1, 'tomasz', 'status', 'new', 'closed'),
(9, 1, 'tomasz', 'resolution', '', 'fixed'),
(10, 1, 'mira', 'comment', '1', 'Cannot say yet how long this takes.'),
(12, 1, 'robin', 'comment', '1', 'Peak use was 3.4 GB with the file from Odderness.'),
(12, 2, 'priya', 'comment', '2', 'Reading in blocks of 500 bookings brings it down to 210 MB.'),
(14, 1, 'lena', 'comment', '1', 'The weather service would send them for free.'),
(15, 1, 'tomasz', 'comment', '1', 'This is as it should be, see the manual.'),
(15, 1, 'tomasz', 'status', 'new', 'closed'),
(15, 1, 'tomasz', 'resolution', '', 'invalid'),
(17, 1, 'robin', 'comment', '1', 'The form is loaded anew, and everything typed is gone.'),
(18, 1, 'adaeze', 'comment', '1', 'I will look at it next week.'),
(19, 1, 'lena', 'comment', '1', 'It takes the time zone of the server.'),
(20, 1, 'robin', 'comment', '1', 'Fixed in the main branch.'),
(20, 1, 'robin', 'status', 'new', 'closed'),
(20, 1, 'robin', 'resolution', '', 'fixed'),
(21, 1, 'tomasz', 'comment', '1', 'Still the same with the newest build.'),
(22, 1, 'yuki', 'comment', '1', 'Still the same with the newest build.'),
(25, 1, 'adaeze', 'comment', '1', 'Please add a screenshot.'),
(26, 1, 'mira', 'comment', '1', 'Still the same with the newest build.'),
(27, 1, 'adaeze', 'comment', '1', 'Talked about it at the monthly meeting.'),
(28, 1, 'tomasz', 'comment', '1', 'Done, will be in the next release.'),
(28, 1, 'tomasz', 'status', 'new', 'closed'),
(28, 1, 'tomasz', 'resolution', '', 'fixed'),
(29, 1, 'tomasz', 'comment', '1', 'Done, will be in the next release.'),
(29, 1, 'tomasz', 'status', 'new', 'closed'),
(29, 1, 'tomasz', 'resolution', '', 'fixed'),
(31, 1, 'adaeze', 'comment', '1', 'Would also save us the thermal paper for the slips.'),
(33, 1, 'adaeze', 'comment', '1', 'This needs a decision by the harbour masters.'),
(34, 1, 'harbour-vellsand', 'comment', '1', 'Only on the tablet at the pier, never at the desk.'),
(35, 1, 'adaeze', 'comment', '1', 'I will look at it next week.'),
(37, 1, 'mira', 'comment', '1', 'This is as it should be, see the manual.'),
(37, 1, 'mira', 'status', 'new', 'closed'),
(37, 1, 'mira', 'resolution', '', 'invalid'),
(39, 1, 'robin', 'comment', '1', 'Refunds are in a table of their own since 0.8.'),
(40, 1, 'oskar', 'comment', '1', 'Done, will be in the next release.'),
(40, 1, 'oskar', 'status', 'new', 'closed'),
(40, 1, 'oskar', 'resolution', '', 'fixed'),
(41, 1, 'oskar', 'comment', '1', 'The field list is on the wiki page ImportFormats.'),
(42, 1, 'mira', 'comment', '1', 'I will look at it next week.'),
(43, 1, 'lena', 'comment', '1', 'The office glued the page in with thermal paper.'),
(43, 2, 'lena', 'comment', '2', 'Done, will be in the next release.'),
(43, 2, 'lena', 'status', 'new', 'closed'),
(43, 2, 'lena', 'resolution', '', 'fixed'),
(44, 1, 'priya', 'comment', '1', 'Fixed in the main branch.'),
(44, 1, 'priya', 'status', 'new', 'closed'),
(44, 1, 'priya', 'resolution', '', 'fixed'),
(45, 1, 'tomasz', 'comment', '1', 'Five colours at most, says Kesterholm.'),
(47, 1, 'tomasz', 'comment', '1', 'The address of the harbour master is in the settings, it is just not used.'),
(48, 1, 'oskar', 'comment', '1', 'The mark is computed in another time zone than the table.'),
(49, 1, 'priya', 'comment', '1', 'Talked about it at the monthly meeting.'),
(50, 1, 'robin', 'comment', '1', 'Fixed in the main branch.'),
(50, 1, 'robin', 'status', 'new', 'closed'),
(50, 1, 'robin', 'resolution', '', 'fixed'),
(52, 1, 'lena', 'comment', '1', 'We will not do this; the effort is too high.'),
(52, 1, 'lena', 'status', 'new', 'closed'),
(52, 1, 'lena', 'resolution', '', 'wontfix'),
(54, 1, 'lena', 'comment', '1', 'Cannot repeat it with a fresh installation.'),
(54, 1, 'lena', 'status', 'new', 'closed'),
(54, 1, 'lena', 'resolution', '', 'worksforme'),
(55, 1, 'adaeze', 'comment', '1', 'Without a station we know no time zone either, so the table stays empty.'),
(56, 1, 'lena', 'comment', '1', 'Done, will be in the next release.'),
(56, 1, 'lena', 'status', 'new', 'closed'),
(56, 1, 'lena', 'resolution', '', 'fixed'),
(57, 1, 'mira', 'comment', '1', 'The tax is printed in the last line.'),
(57, 2, 'adaeze', 'comment', '2', 'This is as it should be, see the manual.'),
(57, 2, 'adaeze', 'status', 'new', 'closed'),
(57, 2, 'adaeze', 'resolution', '', 'invalid'),
(58, 1, 'lena', 'comment', '1', 'This is as it should be, see the manual.'),
(58, 1, 'lena', 'status', 'new', 'closed'),
(58, 1, 'lena', 'resolution', '', 'invalid'),
(60, 1, 'yuki', 'comment', '1', 'Done, will be in the next release.'),
(60, 1, 'yuki', 'status', 'new', 'closed'),
(60, 1, 'yuki', 'resolution', '', 'fixed'),
(61, 1, 'oskar', 'comment', '1', 'Two days side by side need 900 pixels.'),
(62, 1, 'tomasz', 'comment', '1', 'The old one has had no release since 2027.'),
(63, 1, 'mira', 'comment', '1', 'Fixed in the main branch.'),
(63, 1, 'mira', 'status', 'new', 'closed'),
(63, 1, 'mira', 'resolution', '', 'fixed'),
(64, 1, 'tomasz', 'comment', '1', 'Both bookings were made within one second.'),
(64, 2, 'mira', 'comment', '2', 'Then we need a lock, not a check.'),
(64, 3, 'priya', 'comment', '3', 'A lock on the berth, please, not on the whole plan.'),
(65, 1, 'yuki', 'comment', '1', 'Fixed in the main branch.'),
(65, 1, 'yuki', 'status', 'new', 'closed'),
(65, 1, 'yuki', 'resolution', '', 'fixed'),
(67, 1, 'tomasz', 'comment', '1', 'Same on my tablet and on the phone.'),
(68, 1, 'adaeze', 'comment', '1', 'Done, will be in the next release.'),
(68, 1, 'adaeze', 'status', 'new', 'closed'),
(68, 1, 'adaeze', 'resolution', '', 'fixed'),
(70, 1, 'oskar', 'comment', '1', 'This is as it should be, see the manual.'),
(70, 1, 'oskar', 'status', 'new', 'closed'),
(70, 1, 'oskar', 'resolution', '', 'invalid'),
(71, 1, 'adaeze', 'comment', '1', 'Fixed in the main branch.'),
(71, 1, 'adaeze', 'status', 'new', 'closed'),
(71, 1, 'adaeze', 'resolution', '', 'fixed'),
(72, 1, 'yuki', 'comment', '1', 'Negative offsets were dropped together with the time zone in 0.8.'),
(73, 1, 'tomasz', 'comment', '1', 'Done, will be in the next release.'),
(73, 1, 'tomasz', 'status', 'new', 'closed'),
(73, 1, 'tomasz', 'resolution', '', 'fixed'),
(77, 1, 'lena', 'comment', '1', 'The list of boats is loaded three times.'),
(78, 1, 'priya', 'comment', '1', 'Done, will be in the next release.'),
(78, 1, 'priya', 'status', 'new', 'closed'),
(78, 1, 'priya', 'resolution', '', 'fixed'),
(79, 1, 'robin', 'comment', '1', 'A5 is what fits on the notice board.'),
(81, 1, 'tomasz', 'comment', '1', 'Duplicate of #106.'),
(81, 1, 'tomasz', 'status', 'new', 'closed'),
(81, 1, 'tomasz', 'resolution', '', 'duplicate'),
(83, 1, 'priya', 'comment', '1', 'Please add a screenshot.'),
(84, 1, 'oskar', 'comment', '1', 'I could repeat this with the new roll of thermal paper, not with the old one.'),
(85, 1, 'yuki', 'comment', '1', 'On a phone, that is. Nobody calls from a desktop.'),
(86, 1, 'mira', 'comment', '1', 'We will not do this; the effort is too high.'),
(86, 1, 'mira', 'status', 'new', 'closed'),
(86, 1, 'mira', 'resolution', '', 'wontfix'),
(91, 1, 'mira', 'comment', '1', 'The range belongs below the date.'),
(92, 1, 'yuki', 'comment', '1', 'Cannot say yet how long this takes.'),
(93, 1, 'robin', 'comment', '1', 'The check runs in the browser; a tablet in landscape mode skips it.'),
(94, 1, 'lena', 'comment', '1', 'Not related to the receipts that came out empty.'),
(96, 1, 'lena', 'comment', '1', 'Done, will be in the next release.'),
(96, 1, 'lena', 'status', 'new', 'closed'),
(96, 1, 'lena', 'resolution', '', 'fixed'),
(97, 1, 'priya', 'comment', '1', 'I will look at it next week.'),
(98, 1, 'oskar', 'comment', '1', 'Still the same with the newest build.'),
(99, 1, 'tomasz', 'comment', '1', 'This needs a decision by the harbour masters.'),
(100, 1, 'lena', 'comment', '1', 'Cannot repeat it with a fresh installation.'),
(100, 1, 'lena', 'status', 'new', 'closed'),
(100, 1, 'lena', 'resolution', '', 'worksforme'),
(102, 1, 'adaeze', 'comment', '1', 'Fixed; the slip now says refund, if the thermal paper lasts that long.'),
(102, 1, 'adaeze', 'status', 'new', 'closed'),
(102, 1, 'adaeze', 'resolution', '', 'fixed'),
(103, 1, 'yuki', 'comment', '1', 'Duplicate of #105.'),
(103, 1, 'yuki', 'status', 'new', 'closed'),
(103, 1, 'yuki', 'resolution', '', 'duplicate'),
(104, 1, 'priya', 'comment', '1', 'The reader assumes UTF-8. We have to guess the encoding, or ask.'),
(105, 1, 'priya', 'comment', '1', 'Duplicate of #104.'),
(105, 1, 'priya', 'status', 'new', 'closed'),
(105, 1, 'priya', 'resolution', '', 'duplicate'),
(106, 1, 'robin', 'comment', '1', 'Duplicate of #107.'),
(106, 1, 'robin', 'status', 'new', 'closed'),
(106, 1, 'robin', 'resolution', '', 'duplicate'),
(107, 1, 'adaeze', 'comment', '1', 'Tab order first, shortcuts later.'),
(108, 1, 'mira', 'comment', '1', 'Fixed for A4.'),
(108, 1, 'mira', 'status', 'new', 'closed'),
(108, 1, 'mira', 'resolution', '', 'fixed');

UPDATE ticket_change SET time = (1915000000 + (ticket * 37 + time * 5) * 3600) * 1000000;
UPDATE ticket SET changetime = coalesce((SELECT max(time) FROM ticket_change WHERE ticket_change.ticket = ticket.id), time);
