"""What can be wrong with settings. The sign `#!` is on the line that must be named; bars part what must be said."""

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
    "unknown key": ("prot = 3 #!", "prot is not known here|did you mean port"),
    "jobs in a file": (
        'jobs = "jobs.sqlite" #!',
        "jobs must be an address postgresql://HOST/DATABASE, got 'jobs.sqlite'",
    ),
    "host": ('host = "a b" #!', "host must be a name or an address of this machine"),
    "port too large": ("port = 70000 #!", "port must be a whole number from 0 to 65,535, got 70000"),
    "port is true": ("port = true #!", "port must be a whole number from 0 to 65,535, got true"),
    "port is a text": ('port = "80" #!', "port must be a whole number"),
    "url of another sort": ('url = "ftp://x" #!', "url must be an address that begins with https://"),
    "url with a password": ('url = "https://u:canary@x" #!', "url must be an address"),
    "url without a host": ('url = "https://" #!', "url must be an address"),
    "url with a query": ('url = "https://x/?a" #!', "url must be an address"),
    "url with a strange port": ('url = "https://x:99999" #!', "url must be an address"),
    "url with a broken host": ('url = "https://[x" #!', "url must be an address"),
    "no workers": ("workers = 0 #!", "workers must be a whole number from 1 to 1,000, got 0"),
    "one waits more than all": ("waiting = 5\nwaiting_each = 6 #!", "waiting_each must be at most waiting = 5"),
    "body": ("body = 10 #!", "body must be a whole number from 1,024"),
    "rate": ("rate = 1.5 #!", "rate must be a whole number from 1 to 1,000,000, got 1.5"),
    "proxy without addresses": ("proxy = { header = 'X' } #!", "proxy must have addresses"),
    "proxy of no addresses": (
        "proxy.addresses = [] #!",
        "proxy.addresses must be a list of IP addresses or networks, got an empty list",
    ),
    "proxy by name": (
        "proxy.addresses = ['::1',\n'localhost', #!\n]",
        "proxy.addresses must be an IP address or a network",
    ),
    "proxy by number": ("proxy.addresses = ['::1', 1] #!", "proxy.addresses must be an IP address or a network, such"),
    "proxy by its middle": (
        "proxy.addresses = ['10.0.0.1/8'] #!",
        "proxy.addresses must be a network by its first address|did you mean 10.0.0.0/8?",
    ),
    "everybody is a proxy": ("proxy.addresses = ['0.0.0.0/0'] #!", "proxy.addresses must not be every address|anybody"),
    "a header": ("proxy = { addresses = ['::1'], header = 'X: y' } #!", "proxy.header must be the name of a header"),
    "oidc": ("oidc = { issuer = 'x', audience = 'y', jwks = 'z' } #!", "oidc.issuer must be an address"),
}

OF_DATA = {  # lines put into [data.plays]
    "unknown key in a table in braces": ("sizes = { users = 3, item = 2 } #!", "sizes.item is not known"),
    "unknown quoted key": ('"a b" = 1 #!', "'a b' is not known here"),
    "title": ('title = "a\\u001b[1m" #!', "title must be a text of one line"),
    "about": ("about = ['x'] #!", "about must be a text of up to 10,000 characters, got a list"),
    "unit": ('unit = "one  user" #!', "unit must be a text of 1 to 200 characters"),
    "keep": ('keep = "100%" #!', "keep must be a share from 0 to 1, 1 excluded"),
    "keep is text": ('keep = "much" #!', "keep must be a share from 0 to 1, 1 excluded"),
    "groups": ('groups = "country" #!', "groups must be a list of columns, got 'country'"),
    "groups twice": ('groups = ["a", "a"] #!', "groups must have each once"),
    "groups of users": ('groups = [\n"a",\n"user"] #!', "groups must not hold 'user'"),
    "filters": ("filters = ['a'] #!", "filters must be a table, got a list"),
    "filters of users": ('filters = { USER = "any" } #!', "filters.USER must not hold 'USER', which says"),
    "any is mistyped": (
        'filters.x = "any"\nfilters.y = "all" #!',
        'filters.y must be a list of values, or "any" for every',
    ),
    "no value of a filter": ("filters.x = [] #!", "filters.x must be a list of values, got an empty list"),
    "a value twice": ("filters.x = [1, true, 1.0, '1',\n1] #!", "filters.x must have each value once"),
    "a value is a list": ("filters.x = [1, [2]] #!", "filters.x must be a text, a number, true, false, a date"),
    "a value is a time": ("filters.x = [10:00:00] #!", "filters.x must be a text, a number, true, false, a date"),
    "a value with an offset": ("filters.x = [2027-12-31T10:00:00Z] #!", "filters.x must be a text|offset"),
    "a value is no number": ("filters.x = [nan] #!", "filters.x must be a text, a number"),
    "a value is too large": ("filters.x = [1e301] #!", "filters.x must be a number of a size"),
    "a column without a name": ('filters."" = "any" #!', "filters.'' must be the name of a column"),
    "weights of users": ("weights.user = { at_most = 3 } #!", "weights.user must not hold 'user'"),
    "weights without a cap": ("weights.m = { unit = 3 } #!", "weights.m must have at_most"),
    "a cap of 0": ("weights.m = { at_most = 0 } #!", "weights.m.at_most must be a positive, finite number, got 0"),
    "a cap that is no unit": (
        "weights.m = { at_most = 3, unit = 2 } #!",
        "weights.m.at_most must be a whole number of units",
    ),
    "a cap without its unit": (
        "weights.m = { at_most = 0.5 } #!",
        "weights.m.unit must be given where at_most is no whole number|a tenth",
    ),
    "a unit of nothing": (
        "weights.m = { at_most = 3, unit = 'x' } #!",
        "weights.m.unit must be a finite number, got 'x'",
    ),
    "values of users": ("values.user = { low = 0, high = 1 } #!", "values.user must not hold 'user'"),
    "bounds in the wrong order": ("values.m = { low = 1.5, high = 1 } #!", "values.m.high must be above low, got 1"),
    "a step of 0": ("values.m = { low = 0, high = 1, step = 0 } #!", "values.m.step must be a positive, finite number"),
    "a step too wide": (
        "values.m = { low = 0, high = 1, step = 1.5 } #!",
        "values.m.step must be at most the distance of the bounds, got 1.5",
    ),
    "a domain of nothing asked": (
        "domains.arist = ['x'] #!",
        "domains.arist must be a column of items or of groups|did you mean artist?",
    ),
    "a domain is a text": ("domains.artist = 'x' #!", "domains.artist must be a list of values, got 'x'"),
    "sizes": ("sizes.users = 0 #!", "sizes.users must be a whole number from 1 to"),
    "many items of each": (
        "sizes = { items = 10, items_per_user = 9.5 } #!",
        "sizes.items_per_user must be at most nine tenths of items",
    ),
    "skew": ("sizes.skew = -0.1 #!", "sizes.skew must be a number from 0 to 10, got -0.1"),
    "max_k": ("max_k = 0 #!", "max_k must be a whole number from 1 to"),
    "max_items_per_user": ("max_items_per_user = '3' #!", "max_items_per_user must be a whole number from 1"),
    "tick of 0": ("tick = 0 #!", "tick must be a number above 0 and at most 3,600, got 0"),
    "tick too long": ("tick = 3600.5 #!", "tick must be a number above 0 and at most 3,600, got 3600.5"),
    "approve": ("approve = 1 #!", "approve must be true or false, got 1"),
    "period without time": ('period = "month" #!', "period must be given with time"),
    "time without period": ('time = "at" #!', "time must be given with period"),
    "a zone without period": ('timezone = "Europe/Berlin" #!', "timezone must be given with period"),
    "since without period": ('since = "2026-01" #!', "since must be given with period"),
    "no such zone": (
        'time = "at"\nperiod = "month"\ntimezone = "Europe/Berlim" #!',
        "timezone must be the name of a time zone|Europe/Berlin",
    ),
    "no such period": (
        'time = "at"\nperiod = "months" #!',
        "period must be one of day, week, month, quarter, year, got 'months'|did you mean month?",
    ),
    "since another sort": (
        'time = "at"\nperiod = "week"\nsince = "2026-01" #!',
        "since must name a week, got '2026-01'|2026-W40",
    ),
    "since several": ('time = "at"\nperiod = "month"\nsince = "2026-01..2026-02" #!', "since must name one month"),
    "a day is a date": ('time = "at"\nperiod = "day"\nsince = 2026-01-01 #!', "since must be a text of one line"),
    "time says who": ('time = "user" #!\nperiod = "day"', "time must not say who a user is"),
    "split of nothing": ('split = "" #!', "split must be the text that stands between items"),
    "a table of a file": ('table = "x" #!', "table must be left out where the source is files"),
    "a snapshot of a file": ('snapshot = "x" #!', "snapshot must be left out where the source is files"),
    "refresh what is not prepared": ("refresh = 5 #!", "refresh must be left out without prepare = true"),
    "rows of a user in no copy": (
        "max_rows_per_user = 5 #!",
        "max_rows_per_user must be left out without prepare = true",
    ),
}

OF_PERSON = {  # lines put into [people.ann]
    "no such data": ('data = [\n"plais"] #!', "data must name data sets, got 'plais'|did you mean plays?"),
    "data of nobody": (
        "data = [] #!",
        "data must be a list of names of data sets, or be left out for all, got an empty list",
    ),
    "data twice": ('data = ["plays", "plays"] #!', "data must have each data set once"),
    "quota": ("quota = 1 #!", "quota must be a table, got 1"),
    "quota of nothing": ("quota = { epsilon = 0, delta = 0.1 } #!", "quota.epsilon must be above 0, got 0"),
    "until is a text": (
        'until = "2027-12-31" #!',
        "until must be a date without quotes, such as 2027-12-31, got '2027-12-31'",
    ),
    "until is a moment": ("until = 2027-12-31T00:00:00 #!", "until must be a date without quotes"),
    "subject": ('subject = " " #!', "subject must be a text of one line"),
}

REPLACED: dict[str, tuple[str, str, str]] = {  # by something else
    "no server": (SERVER, "", "must have server"),
    "no data": (
        DATA,
        "",
        "must have data",
    ),
    "no people": (
        PEOPLE,
        "",
        "must have people",
    ),
    "empty data": (
        DATA,
        "[data] #!\n",
        "[data] must have at least one data set",
    ),
    "empty people": (
        PEOPLE,
        "[people] #!\n",
        "[people] must have at least one person",
    ),
    "unknown table": ("[people", "[poeple.eve] #!\n[people", "[poeple] is not known here|did you mean people?"),
    "a table is no table": (FEWEST, f"people = 3 #!\n{SERVER}{DATA}", "[people] must be a table, got 3"),
    "a data set is no table": (
        "[data.plays]",
        "[data]\nx = [1] #!\n[data.plays]",
        "[data.x] must be a table, got a list",
    ),
    "no ledger": ('[server]\nledger = "ledger.sqlite"\n', "[server] #!\n", "[server] must have ledger"),
    "no promise": (DATA, f"{DATA[: DATA.index('promise')]}\n".replace("plays]", "plays] #!"), "must have promise"),
    "half a promise": (
        'promise = { epsilon = 3, delta = "1e-5" }\n',
        "promise = { epsilon = 3 } #!\n",
        "[data.plays] promise must have delta",
    ),
    "ledger of another sort": (
        'ledger.sqlite"',
        'mysql://u:canary@h/d" #!',
        "[server] ledger must be the path of a file, or postgresql://HOST/DATABASE, got a text that is not shown",
    ),
    "ledger is a number": ('"ledger.sqlite"', "3 #!", "[server] ledger must be a text of one line"),
    "folder is an address": ('"state"', '"postgresql://h/canary" #!', "[server] folder must be a path on this machine"),
    "folder of two lines": ('"state"', '"a\\nb" #!', "[server] folder must be a text of one line"),
    "folder in a source": ('"state"', '"plays.parquet/x" #!', "[server] folder must not lie in the source of plays"),
    "folder found by a source": (
        '"plays.parquet"',
        '"**/*.parquet"',
        "[server] folder must not lie in the source of plays|[server] ledger must not lie",
    ),
    "ledger is the data": (
        '"ledger.sqlite"',
        '"plays.parquet" #!',
        "[server] ledger must not lie in the source of plays",
    ),
    "ledger is the folder": ('"state"', '"ledger.sqlite" #!', "[server] folder must be another path than ledger"),
    "source is an address": (
        '"plays.parquet"',
        '"https://u:canary@x/y" #!',
        "[data.plays] source must be a path on this machine, or one postgresql:// or spark: address",
    ),
    "source is a database among files": (
        '"plays.parquet"',
        '["a",\n"postgresql://h/d"] #!',
        "[data.plays] source must be a path on this machine",
    ),
    "source is empty": (
        '"plays.parquet"',
        "[] #!",
        "[data.plays] source must be a path, an address, or a list of paths, got an empty list",
    ),
    "source is a table": ('"plays.parquet"', "{} #!", "[data.plays] source must be a text of one line"),
    "no user": ('user = "user"\n', "", "[data.plays] must have user|prepared"),
    "user": ('user = "user"', 'user = "" #!', "[data.plays] user must be the name of a column"),
    "user of nothing": (
        'user = "user"',
        "user = [] #!",
        "[data.plays] user must be the name of a column, or a list of such names",
    ),
    "user with NUL": ('user = "user"', 'user = "a\\u0000" #!', "[data.plays] user must be the name of a column"),
    "items are one text": (
        '["artist"]',
        '"artist" #!',
        "[data.plays] items must be a list of columns, or of lists of columns, got 'artist'",
    ),
    "no items": ('["artist"]', "[] #!", "[data.plays] items must be a list of columns"),
    "items twice": ('["artist"]', '["artist",\n"artist"] #!', "[data.plays] items must have each once"),
    "an item is a number": ('["artist"]', '["artist",\n\n3, #!\n]', "[data.plays] items must be the name of a column"),
    "an item says who a user is": (
        '["artist"]',
        '["artist",\n["country", "User"]] #!',
        "[data.plays] items must not hold 'User', which says who a user is",
    ),
    "epsilon": (
        'epsilon = 3, delta = "1e-5" }',
        "epsilon = -1, delta = 0 } #!",
        "[data.plays] promise.epsilon must be above 0, got -1",
    ),
    "epsilon in decimals": (
        'epsilon = 3, delta = "1e-5" }',
        "epsilon = -0.50, delta = 0 } #!",
        "[data.plays] promise.epsilon must be above 0, got -0.50",
    ),
    "epsilon of no size": (
        'epsilon = 3, delta = "1e-5" }',
        "epsilon = 1e999999999999999999999, delta = 0 } #!",
        "[data.plays] promise.epsilon must be above 0, got NaN",
    ),
    "epsilon is infinite": (
        'epsilon = 3, delta = "1e-5" }',
        "epsilon = inf, delta = 0 } #!",
        "[data.plays] promise.epsilon must be above 0, got Infinity",
    ),
    "epsilon is enormous": (
        'epsilon = 3, delta = "1e-5" }',
        "epsilon = 1e7, delta = 0 } #!",
        "[data.plays] promise.epsilon must be between 1e-100 and 1e+06",
    ),
    "epsilon is a date": (
        'epsilon = 3, delta = "1e-5" }',
        "epsilon = 2027-12-31, delta = 0 } #!",
        "[data.plays] promise.epsilon must be above 0, got 2027-12-31",
    ),
    "delta": (
        'epsilon = 3, delta = "1e-5" }',
        "epsilon = 3, delta = 1 } #!",
        "[data.plays] promise.delta must be at least 0 and less than 1, got 1",
    ),
    "split of keys": (
        '["artist"]',
        '["artist", ["a", "b"]] #!\nsplit = " "',
        "[data.plays] items must be single columns where split is given",
    ),
    "a database without table": (
        '[data.plays]\nsource = "plays.parquet"',
        '[data.plays] #!\nsource = "rows.duckdb"',
        "[data.plays] must have table, which of the database is meant",
    ),
    "an address without table": (
        '[data.plays]\nsource = "plays.parquet"',
        '[data.plays] #!\nsource = "spark:local"',
        "[data.plays] must have table",
    ),
    "prepare a database": (
        '"plays.parquet"\nuser = "user"',
        '"postgresql://h/d"\ntable = "t"\nprepare = true #!\nuser = "user"',
        "[data.plays] prepare must be left out where the source is a database",
    ),
    "a name that cannot be seen": (
        "[people.ann]",
        '[people."an\\u200bn"] #!',
        "[people.'an\\u200bn'] must be a text of 1 to 200 characters that can be seen",
    ),
    "a data set without a name": ("[data.plays]", '[data.""] #!', "[data.''] must be a text of 1 to 200 characters"),
    "no role": ('[people.ann]\nrole = "analyst"\n', "[people.ann] #!\n", "[people.ann] must have role"),
    "role": (
        '"analyst"',
        '"Analyst" #!',
        "[people.ann] role must be one of owner, analyst, auditor, got 'Analyst'|did you mean analyst?",
    ),
    "role is a list": (
        '"analyst"',
        '["analyst"] #!',
        "[people.ann] role must be one of owner, analyst, auditor, got a list",
    ),
    "a token itself": (
        '"sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"',
        '"canary-canary" #!',
        '[people.ann] token must be "sha256:" and 64 hexadecimal digits, got something else|dpselect gateway token',
    ),
    "half a digest": (
        '"sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"',
        '"sha256:canary" #!',
        "[people.ann] token must be",
    ),
    "a token is a number": (
        '"sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"',
        "3 #!",
        "[people.ann] token must be",
    ),
    "one token of two": (
        "[people.ann]\n",
        f'[people.eve]\nrole = "owner"\ntoken = "sha256:{DIGEST.upper()}"\n[people.ann]\n',
        "[people.ann] token must be another than that of eve",
    ),
    "one subject of two": (
        '[people.ann]\nrole = "analyst"\n',
        '[people.eve]\nrole = "owner"\nsubject = "x"\n[people.ann]\nrole = "analyst"\nsubject = "x" #!\n',
        "[people.ann] subject must be another than that of eve",
    ),
    "one name of two": (
        "[people.ann]",
        '[people."é"]\nrole = "owner"\n[people."e\\u0301"] #!',
        "is there twice: the names look the same",
    ),
}
