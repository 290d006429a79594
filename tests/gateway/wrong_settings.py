"""What can be wrong with settings. Each is one mistake; bars part what must be said of it."""

DIGEST = "a" * 64
SERVER = """\
[server]
ledger = "ledger.sqlite"
folder = "state"

"""
DATA = """\
[data.plays]
source = "plays.parquet"
user = "user"
items = ["artist"]
promise = { epsilon = 3, delta = "1e-5" }

"""
PEOPLE = f"""\
[people.ann]
role = "analyst"
token = "sha256:{DIGEST}"
"""
FEWEST = SERVER + DATA + PEOPLE

OF_SERVER = {  # lines put below [server]
    "unknown key": ("prot = 3", "prot is not known here|did you mean port"),
    "jobs in a file": (
        'jobs = "jobs.sqlite"',
        "jobs must be an address postgresql://HOST/DATABASE, got 'jobs.sqlite'",
    ),
    "a password in words": (
        'jobs = "host=h password=canary"',
        "jobs must be an address postgresql://HOST/DATABASE, got a text that is not shown",
    ),
    "a port in quotes": ('port = "8080"', "port must be a whole number, got '8080'"),
    "no key of a proxy": (
        "proxy.adresses = ['::1']\nproxy.addresses = ['::1']",
        "proxy.adresses is not known here|did you mean addresses?",
    ),
    "port too large": ("port = 70000", "port must be less than or equal to 65535, got 70000"),
    "url with a password": ('url = "https://u:canary@x"', "url must be an address"),
    "url with a path": (
        'url = "https://tools.example.org/dp/"',
        "url must be an address without a path, got '/dp/'|a host name or a port of its own",
    ),
    "url with a broken host": ('url = "https://[x"', "url must be an address"),
    "no workers": ("workers = 0", "workers must be greater than or equal to 1, got 0"),
    "one waits more than all": ("waiting = 5\nwaiting_each = 6", "waiting_each must be at most waiting = 5"),
    "proxy without addresses": ("proxy = { header = 'X' }", "proxy.addresses must be given"),
    "proxy by name": (
        "proxy.addresses = ['::1',\n'localhost',\n]",
        "proxy.addresses[1] must be an IP address or a network",
    ),
    "proxy by its middle": (
        "proxy.addresses = ['10.0.0.1/8']",
        "proxy.addresses[0] must be a network by its first address|did you mean 10.0.0.0/8?",
    ),
    "everybody is a proxy": ("proxy.addresses = ['0.0.0.0/0']", "proxy.addresses[0] must not be every address|anybody"),
    "a header": ("proxy = { addresses = ['::1'], header = 'X: y' }", "proxy.header must be the name of a header"),
}

OF_DATA = {  # lines put into [data.plays]
    "unknown key in a table in braces": ("sizes = { users = 3, item = 2 }", "sizes.item is not known"),
    "unknown quoted key": ('"a b" = 1', "'a b' is not known here"),
    "a type that is none": ('types.m = "INTS"', "types.m must be one of the known types, got 'INTS'"),
    "keep": ('keep = "100%"', "keep must be less than 1, got '100%'"),
    "groups twice": ('groups = ["a", "a"]', "groups must have each once"),
    "groups of users": ('groups = [\n"a",\n"user"]', "groups must not hold 'user'"),
    "filters of users": ('filters = { USER = "any" }', "filters must not hold 'USER', which says"),
    "any is mistyped": (
        'filters.x = "any"\nfilters.y = "all"',
        'filters.y must be a list of values, or "any" for every',
    ),
    "a value twice": ("filters.x = [1, true, 1.0, '1',\n1]", "filters.x must have each once"),
    "a value is a list": ("filters.x = [1, [2]]", "filters.x[1] must be a text, a number, true, false, a date"),
    "a value with an offset": ("filters.x = [2027-12-31T10:00:00Z]", "filters.x[0] must be a text|offset"),
    "a value is too large": ("filters.x = [1e301]", "filters.x[0] must be a number of a size"),
    "weights of users": ("weights.user = { at_most = 3 }", "weights must not hold 'user'"),
    "a cap that is no unit": (
        "weights.m = { at_most = 3, unit = 2 }",
        "weights.m.at_most must be a whole number of units",
    ),
    "a cap without its unit": (
        "weights.m = { at_most = 0.5 }",
        "weights.m.unit must be given if at_most is not a whole number|a tenth",
    ),
    "bounds in the wrong order": ("values.m = { low = 1.5, high = 1 }", "values.m.high must be above low, got 1"),
    "a step too wide": (
        "values.m = { low = 0, high = 1, step = 1.5 }",
        "values.m.step must be at most the distance of the bounds, got 3/2",
    ),
    "a domain of nothing asked": (
        "domains.arist = ['x']",
        "domains must be of columns of items or of groups, got 'arist'|did you mean artist?",
    ),
    "many items of each": (
        "sizes = { items = 10, items_per_user = 9.5 }",
        "sizes.items_per_user must be at most nine tenths of items",
    ),
    "tick too long": ("tick = 3600.5", "tick must be less than or equal to 3600, got 3600.5"),
    "period without time": ('period = "month"', "period must be given with time"),
    "no such zone": (
        'time = "at"\nperiod = "month"\ntimezone = "Europe/Berlim"',
        "timezone must be the name of a time zone|Europe/Berlin",
    ),
    "no such period": (
        'time = "at"\nperiod = "months"',
        "period must be one of day, week, month, quarter, year, got 'months'|did you mean month?",
    ),
    "since another sort": (
        'time = "at"\nperiod = "week"\nsince = "2026-01"',
        "since must name a week, got '2026-01'|2026-W40",
    ),
    "time says who": ('time = "user"\nperiod = "day"', "time must not hold 'user', which says who a user is"),
    "split of nothing": ('split = ""', "split must be the text that separates items"),
    "a table of a file": ('table = "x"', "table must be left out if the source is files"),
    "a snapshot of a file": ('snapshot = "x"', "snapshot must be left out if the source is files"),
}

OF_PERSON = {  # lines put into [people.ann]
    "a name in the table": ('name = "eve"', ".ann] name is not known here"),
    "a key without a name": ('"" = "canary"', "] must not have a key without a name"),
    "until is a time": ("until = 2027-12-31T10:00:00", ".ann] until must be a date without quotes"),
    "no such data": ('data = [\n"plais"]', ".ann] data must name data sets, got 'plais'|did you mean plays?"),
    "data twice": ('data = ["plays", "plays"]', ".ann] data must have each once"),
    "quota of nothing": (
        "quota = { epsilon = 0, delta = 0.1 }",
        ".ann] quota.epsilon must be a positive, finite number, got 0",
    ),
    "until is a text": (
        'until = "2027-12-31"',
        ".ann] until must be a date without quotes, such as 2027-12-31, got '2027-12-31'",
    ),
}

REPLACED: dict[str, tuple[str, str, str]] = {  # by something else
    "no server": (SERVER, "", "[server] must be given"),
    "empty data": (
        DATA,
        "[data]\n",
        "[data] must have at least one",
    ),
    "unknown table": ("[people", "[poeple.eve]\n[people", "[poeple] is not known here|did you mean people?"),
    "a table is no table": (FEWEST, f"people = 3\n{SERVER}{DATA}", "[people] must be a table, got 3"),
    "no ledger": ('[server]\nledger = "ledger.sqlite"\n', "[server]\n", "[server] ledger must be given"),
    "no promise": (
        DATA,
        f"{DATA[: DATA.index('promise')]}\n".replace("plays]", "plays]"),
        "[data.plays] promise must be given",
    ),
    "ledger is a table": (
        '"ledger.sqlite"',
        "{ path = 'canary' }",
        "[server] ledger must be a text of one line, of 1 to 1,000 visible characters, got a table",
    ),
    "ledger of another sort": (
        'ledger.sqlite"',
        'mysql://u:canary@h/d"',
        "[server] ledger must be the path of a file, or postgresql://HOST/DATABASE, got a text that is not shown",
    ),
    "folder is an address": ('"state"', '"postgresql://h/canary"', "[server] folder must be a path on this machine"),
    "folder in a source": (
        '"state"',
        '"plays.parquet/x"',
        "[data.plays] source must not hold what the gateway writes: folder of [server]",
    ),
    "folder found by a source": (
        '"plays.parquet"',
        '"**/*.parquet"',
        "[data.plays] source must not hold what the gateway writes: ledger and folder of [server]",
    ),
    "ledger is the data": (
        '"ledger.sqlite"',
        '"plays.parquet"',
        "[data.plays] source must not hold what the gateway writes: ledger of [server]",
    ),
    "ledger is the folder": ('"state"', '"ledger.sqlite"', "[server] folder must be another path than ledger"),
    "source is an address": (
        '"plays.parquet"',
        '"https://u:canary@x/y"',
        "[data.plays] source must be a path on this machine, or one postgresql:// or spark: address",
    ),
    "source of another package": (
        '"plays.parquet"',
        '"records://u:canary@x"',
        "[data.plays] outside must name the package that reads records:// addresses",
    ),
    "another package for a file": (
        'source = "plays.parquet"',
        'source = "plays.parquet"\noutside = "dps-rows"',
        "[data.plays] outside must be left out if dpselect itself reads the source",
    ),
    "source is a database among files": (
        '"plays.parquet"',
        '["a",\n"postgresql://h/d"]',
        "[data.plays] source must be a path on this machine",
    ),
    "no user": ('user = "user"\n', "", "[data.plays] user must be given|prepared"),
    "user": ('user = "user"', 'user = ""', "[data.plays] user must be the name of a column"),
    "user with NUL": ('user = "user"', 'user = "a\\u0000"', "[data.plays] user must be the name of a column"),
    "items are one text": (
        '["artist"]',
        '"artist"',
        "[data.plays] items must be a list, got 'artist'",
    ),
    "items twice": ('["artist"]', '["artist",\n"artist"]', "[data.plays] items must have each once"),
    "an item says who a user is": (
        '["artist"]',
        '["artist",\n["country", "User"]]',
        "[data.plays] items must not hold 'User', which says who a user is",
    ),
    "epsilon": (
        'epsilon = 3, delta = "1e-5" }',
        "epsilon = -1, delta = 0 }",
        "[data.plays] promise.epsilon must be a positive, finite number, got -1",
    ),
    "epsilon is infinite": (
        'epsilon = 3, delta = "1e-5" }',
        "epsilon = inf, delta = 0 }",
        "[data.plays] promise.epsilon must be a positive, finite number, got Infinity",
    ),
    "epsilon is enormous": (
        'epsilon = 3, delta = "1e-5" }',
        "epsilon = 1e7, delta = 0 }",
        "[data.plays] promise.epsilon must be between 1e-100 and 1e+06",
    ),
    "split of keys": (
        '["artist"]',
        '["artist", ["a", "b"]]\nsplit = " "',
        "[data.plays] split must be left out if an item is several columns",
    ),
    "a database without table": (
        '[data.plays]\nsource = "plays.parquet"',
        '[data.plays]\nsource = "rows.duckdb"',
        "[data.plays] table must be given: which of the database is meant?",
    ),
    "a name that cannot be seen": (
        "[people.ann]",
        '[people."an\\u200bn"]',
        "[people.'an\\u200bn'] must be a text of 1 to 200 visible characters",
    ),
    "no role": ('[people.ann]\nrole = "analyst"\n', "[people.ann]\n", "[people.ann] role must be given"),
    "role": (
        '"analyst"',
        '"Analyst"',
        "[people.ann] role must be one of owner, analyst, auditor, got 'Analyst'|did you mean analyst?",
    ),
    "a token itself": (
        '"sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"',
        '"canary-canary"',
        '[people.ann] token must be "sha256:" and 64 hexadecimal digits, got something else|dpselect gateway token',
    ),
    "one token of two": (
        "[people.ann]\n",
        f'[people.eve]\nrole = "owner"\ntoken = "sha256:{DIGEST.upper()}"\n[people.ann]\n',
        "[people.ann] token must be another than that of eve",
    ),
    "one subject of two": (
        '[people.ann]\nrole = "analyst"\n',
        '[people.eve]\nrole = "owner"\nsubject = "x"\n[people.ann]\nrole = "analyst"\nsubject = "x"\n',
        "[people.ann] subject must be another than that of eve",
    ),
    "one name of two": (
        "[people.ann]",
        '[people."é"]\nrole = "owner"\n[people."e\\u0301"]',
        "[people] must not have two names that look the same",
    ),
}
