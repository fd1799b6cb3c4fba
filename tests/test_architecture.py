"""Imports go one way: the solvers know nothing of what is built on them."""

import ast
from pathlib import Path

import odrpo

PACKAGE = Path(odrpo.__file__).parent
# Each layer may import the layers before it.
LAYERS = [
    "arguments",
    "trust_region",
    "envs",
    "rollout",
    "config_checks",
    "config",
    "observations",
    "randomness",
    "networks",
    "embedding",
    "policies",
    "critics",
    "replay",
    "advantages",
    "learner",
    "exact_step",
    "acceptance",
    "algorithm",
    "off_policy",
    "records",
    "evaluation",
    "callbacks",
    "presets",
    "files",
    "checkpoint",
    "replay_files",
    "model_files",
    "checkpoints",
    "progress",
    "curves",
    "run_logs",
    "run_folder",
    "updates",
    "signals",
    "training",
    "model",
    "experiments",
    "report",
    "problem_files",
    "figures",
    "cli",
]


def imported(path: Path) -> set[str]:
    """The top layers of odrpo that a file imports."""
    names = set()
    tree = ast.parse(path.read_text())
    # What is imported for annotations alone is not there when the program runs.
    for_types = {
        inner
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in set(ast.walk(tree)) - for_types:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("odrpo."):
            names.add(node.module.split(".")[1])
        if isinstance(node, ast.ImportFrom) and node.module == "odrpo":
            names |= {alias.name for alias in node.names} & set(LAYERS)
    return names


def test_every_module_has_a_layer() -> None:
    modules = {path.stem for path in PACKAGE.iterdir() if path.stem[0] != "_"}
    assert modules == set(LAYERS)


def test_imports_go_down() -> None:
    for path in PACKAGE.rglob("*.py"):
        layer = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if layer.startswith("__"):
            continue
        allowed = set(LAYERS[: LAYERS.index(layer) + 1])
        assert imported(path) <= allowed, f"{path} imports upwards"
