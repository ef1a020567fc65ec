"""What a wrapped server is called when nobody said: by its own name, also behind an interpreter or a launcher.

Of the arguments nothing is kept but the one word that names a script, a module, a package or an image, and that only
when it is a plain name. Standard library only.
"""

# Options that are followed by a value, by the program that has them; a set is empty where none is likely.
_PYTHON = frozenset({"-X", "-W", "--check-hash-based-pycs"})
_NODE = frozenset(
    {"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions", "--env-file"}
)
_UV = frozenset({
    "--from", "--with", "--with-editable", "--with-requirements", "--python", "-p", "--index", "--directory",
    "--project", "--extra", "--group", "--env-file", "--package", "--spec", "-c",
})  # fmt: skip
_DOCKER = frozenset({
    "-e", "--env", "--env-file", "-v", "--volume", "--mount", "--name", "-p", "--publish", "--network", "-w",
    "--workdir", "-u", "--user", "--entrypoint", "-l", "--label", "--platform", "-h", "--hostname", "--add-host",
    "-m", "--memory",
})  # fmt: skip
_NPX = frozenset({"-p", "--package"})
_NONE: frozenset[str] = frozenset()

SCRIPTS = {
    "python": _PYTHON, "pypy": _PYTHON, "node": _NODE, "tsx": _NODE, "ts-node": _NODE, "bun": _NODE, "deno": _NONE,
    "ruby": _NONE, "perl": _NONE, "php": _NONE, "sh": _NONE, "bash": _NONE, "zsh": _NONE,
}  # fmt: skip
PACKAGES = {"npx": _NPX, "bunx": _NPX, "pnpx": _NPX, "uvx": _UV}
# Launchers that want a word first: what follows it is named as if it stood alone.
VERBS = {
    "uv": {"run": "", "tool": "uv-tool"}, "uv-tool": {"run": "uvx"}, "pipx": {"run": "uvx"},
    "bun": {"run": "bun", "x": "npx"},
    "deno": {"run": "deno"}, "npm": {"exec": "npx", "x": "npx"}, "pnpm": {"dlx": "npx", "exec": "npx"},
    "yarn": {"dlx": "npx"}, "poetry": {"run": ""}, "pdm": {"run": ""}, "hatch": {"run": ""},
    "docker": {"run": "docker"}, "podman": {"run": "docker"},
}  # fmt: skip
CODE = frozenset({"-c", "-e", "--eval", "-p", "--print", "eval"})  # program text follows, which has no name
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
OUTPUT = ("dist", "build", "src", "bin", "out")  # folders that tell nothing
LONGEST = 60


def called(command: list[str]) -> str:
    """The name of a server that is started so.

    >>> called(["python3", "-m", "my_server"]), called(["npx", "-y", "@scope/server-files@1.2", "/home"])
    ('my_server', 'server-files')
    """
    program = command[0].rpartition("/")[2] or command[0]
    return _plain(_inner(program, command[1:], 3)) or program


def _inner(program: str, words: list[str], depth: int) -> str:
    """What a program was told to run; "" when it is no launcher, or that cannot be told."""
    kind = program.removesuffix(".exe").rstrip("0123456789.") or program
    if kind == "env":
        at = next(
            (n for n, word in enumerate(words) if "=" not in word and not word.startswith("-")), len(words)
        )
        return _started(words[at:], depth)
    if kind in VERBS and words and words[0] in VERBS[kind]:
        as_if = VERBS[kind][words[0]]
        return _docker(words[1:]) if as_if == "docker" else (
            _inner(as_if, words[1:], depth) if as_if else _started(_behind(words[1:], _UV), depth)
        )  # fmt: skip
    if kind in PACKAGES:
        return _package(_first(words, PACKAGES[kind]))
    return _script(words, SCRIPTS[kind]) if kind in SCRIPTS else ""


def _started(words: list[str], depth: int) -> str:
    """A command within a command."""
    if not words or not depth:
        return ""
    program = words[0].rpartition("/")[2]
    return _inner(program, words[1:], depth - 1) or _stem(program)


def _script(words: list[str], valued: frozenset[str]) -> str:
    for n, word in enumerate(words):
        if word == "-m":
            return words[n + 1].partition(".__main__")[0] if n + 1 < len(words) else ""
        if word in CODE:
            return ""
        if (word.startswith("-") and word != "--") or (n and words[n - 1] in valued):
            continue
        if word != "--":
            return _stem(word)
    return ""


def _stem(path: str) -> str:
    """The name of a script; of one that is called like every other, that of its folder."""
    *folders, name = path.split("/")
    stem, dot, _ = name.rpartition(".")
    stem = stem if dot else name
    around = next((folder for folder in reversed(folders) if folder not in OUTPUT), "")
    return around if stem in ("__main__", "index", "main") and around not in ("", ".", "..") else stem


def _first(words: list[str], valued: frozenset[str]) -> str:
    rest = _behind(words, valued)
    return rest[0] if rest else ""


def _behind(words: list[str], valued: frozenset[str]) -> list[str]:
    """From the first word on that is no option, nor the value of one."""
    for n, word in enumerate(words):
        if not word.startswith("-") and not (n and words[n - 1] in valued):
            return words[n:]
    return []


def _package(word: str) -> str:
    """@scope/name@version, name==version, name@version."""
    if ":" in word:
        return ""  # an address
    name = word.rpartition("/")[2] if word.startswith("@") else word
    return _stem(name) if "/" in name else name.partition("@")[0].partition("==")[0]


def _docker(words: list[str]) -> str:
    return _first(words, _DOCKER).partition("@")[0].rpartition("/")[2].partition(":")[0]


def _plain(name: str) -> str:
    """The name when it is one, "" for anything that could be something else."""
    return name if 0 < len(name) <= LONGEST and PLAIN.issuperset(name) and name[0] not in "-." else ""
