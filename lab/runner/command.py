"""The command line: arguments, directories, exit statuses.

0: all was measured. 1: it ran, but a participant has invalid runs (the report says which). 2: wrong arguments,
configuration or missing programs, nothing was run. 128 + signal: interrupted, what there is has been reported.
"""

import argparse
import fnmatch
import random
import sys
import time
from pathlib import Path

from harness import interrupts, processes
from harness.languages import languages
from harness.prerequisites import missing

from . import report, results, rows, targets
from .campaign import Campaign, missing_programs, runs_and_seconds
from .config import Case, Config, ConfigError, compared, load

ROOT = Path(__file__).resolve().parents[2]


def run_command(arguments: list[str]) -> int:
    options = _options(arguments)
    root = Path(options.root).resolve()
    try:
        config = load(Path(options.config), quick=options.quick, brief=options.brief, pairs=options.pairs)
        cases = _chosen(config, _rows(options, root), options.among)
        if options.against:
            cases = compared(config, cases, options.against)
        if options.list:
            return _list(cases)
        if options.where_possible and (lacking := _left_out(Path(options.config))):
            print(lacking, flush=True)
            return 0
        absent = missing_programs(config, cases, root)
        if absent:
            raise ConfigError("\n".join(absent))
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 2
    return _run(config, cases, root, options)


def _left_out(path: Path) -> str:
    """Why what NAME.toml measures is left out on this machine; empty if it is not."""
    language = languages().get(path.stem)
    if language is None or not language.optional or not (lacking := missing(language)):
        return ""
    return f"{path}: {language.name} is left out, for this machine has not {'; '.join(lacking)}"


def _run(config: Config, cases: list[Case], root: Path, options: argparse.Namespace) -> int:
    directory = _fresh(Path(options.out) if options.out else root / "build" / "lab")
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
    total = sum(runs_and_seconds(case)[1] for case in cases)
    print(f"about {total / 60:.0f} min; rows in {directory}; seed {seed}", file=sys.stderr, flush=True)
    interrupts.install()
    writer = rows.Writer(directory)
    status = 0
    try:
        campaign = Campaign(config, cases, writer, root, seed)
        campaign.describe(["lab/run.py", *options.arguments], options.among, options.against)
        campaign.run()
    except processes.Failed as failure:
        print(failure.brief, file=sys.stderr)
        status = 2
    except interrupts.Interrupted as stop:
        writer.write("interrupted", signal=str(stop))
        status = 128 + stop.signum
    finally:
        processes.end_all()
        writer.close()
    return _closing(directory, status)


def _closing(directory: Path, status: int) -> int:
    kept = rows.read(directory)
    try:
        path = report.write(directory)
    except rows.RowsError as error:
        print(error, file=sys.stderr)
        return status or 1
    text = path.read_text(encoding="utf-8")
    print(text[text.index("## Targets") :].split("\n\n")[1])
    print(f"report: {path}")
    invalid = sum(1 for row in kept if row["type"] == "run" and not row["ok"])
    if invalid:
        print(f"{invalid} runs are invalid; the report says which and why", file=sys.stderr)
    return status or (1 if invalid else 0)


def results_command(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="lab/results.py", description="Put what runs have found into the documents.")
    parser.add_argument("directories", metavar="DIR", nargs="*", help="directories of runs (all in build/lab)")
    parser.add_argument("--root", default=str(ROOT), help="the directory with lab/RESULTS.md and README.md")
    options = parser.parse_args(arguments)
    root = Path(options.root)
    directories = [Path(each) for each in options.directories] or sorted(
        path.parent for path in (root / "build" / "lab").glob(f"*/{rows.FILE}")
    )
    try:
        kept = results.collect(directories, lambda line: print(line, file=sys.stderr))
    except rows.RowsError as error:
        print(error, file=sys.stderr)
        return 2
    for path in results.write(kept, root):
        print(path)
    return 0


def report_command(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="lab/report.py", description="Make a report again from its rows.")
    parser.add_argument("directory", metavar="DIR")
    options = parser.parse_args(arguments)
    try:
        print(report.write(Path(options.directory)))
    except rows.RowsError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="lab/run.py", description="Run a benchmark configuration.")
    parser.add_argument("config", metavar="CONFIG", help="a TOML file such as lab/go.toml")
    parser.add_argument(
        "--only",
        action="append",
        metavar="ROW",
        help="a row, or one point of it (callers/1000); with * for any letters",
    )
    parser.add_argument("--among", metavar="NAMES", help="peers and baselines to keep, separated by commas")
    parser.add_argument("--pairs", type=_positive, metavar="N", help="rounds of each row (a claim needs ten)")
    parser.add_argument("--quick", action="store_true", help="few and short runs: orientation, no claim")
    parser.add_argument(
        "--brief",
        action="store_true",
        help="runs as short as with --quick, as many as without, and the fewest peers that targets need",
    )
    parser.add_argument("--targets", metavar="NAME", help="the rows of a list of lab/targets.toml")
    parser.add_argument(
        "--against",
        metavar="PROGRAM=OTHER",
        help="compare two builds of ours: OTHER is an older build of PROGRAM (build/peer-go), and the only peer; "
        "or a directory with several layouts of both (lab/layouts.py)",
    )
    parser.add_argument(
        "--where-possible", action="store_true", help="run nothing where the language NAME of NAME.toml is left out"
    )
    parser.add_argument("--seed", type=int, help="repeat the order of an earlier run")
    parser.add_argument("--list", action="store_true", help="show rows, runs and time; run nothing")
    parser.add_argument("--out", metavar="DIR", help="where run directories are made (build/lab)")
    parser.add_argument("--root", default=str(ROOT), help="the directory that programs are relative to")
    options = parser.parse_args(arguments)
    options.arguments = arguments
    return options


def _rows(options: argparse.Namespace, root: Path) -> list[str] | None:
    """What --only and --targets name; None for all."""
    if options.targets is None:
        return options.only
    lists = {each.name: each for each in targets.load(root / targets.FILE)}
    if options.targets not in lists:
        raise ConfigError(f"{targets.FILE}: no list {options.targets!r}; there are {', '.join(lists)}")
    rows = lists[options.targets].rows_of(options.config)
    if not rows:
        raise ConfigError(f"{targets.FILE}: no line of {options.targets!r} has rows of {options.config}")
    return [*(options.only or []), *rows]


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def _chosen(config: Config, only: list[str] | None, among: str | None) -> list[Case]:
    cases = config.cases
    for name in only or []:
        if not any(_named(case, name) for case in cases):
            known = ", ".join(dict.fromkeys(case.row for case in cases))
            raise ConfigError(f"{config.path}: no row {name!r}; there are {known}")
    if only:
        cases = [case for case in cases if any(_named(case, name) for name in only)]
    if among is None:
        return cases
    kept = among.split(",")
    for name in kept:
        if name not in config.participants:
            raise ConfigError(f"{config.path}: no participant {name!r}; there are {', '.join(config.participants)}")
    return [_narrowed(case, kept) for case in cases]


def _named(case: Case, name: str) -> bool:
    return fnmatch.fnmatchcase(case.row, name) or fnmatch.fnmatchcase(case.name, name)


def _narrowed(case: Case, kept: list[str]) -> Case:
    copy = Case(**vars(case))
    copy.peers = [name for name in case.peers if name in kept]
    copy.baselines = [name for name in case.baselines if name in kept]
    copy.left_out = [*case.left_out, *(name for name in case.peers if name not in kept)]
    present = {"", *copy.participants(), *(("fastest", "each") if copy.peers else ())}
    copy.checks = [check for check in case.checks if check.against in present]
    return copy


def _list(cases: list[Case]) -> int:
    for case in cases:
        runs, seconds = runs_and_seconds(case)
        print(f"{case.name:24} {case.kind:9} {runs:5} runs {seconds / 60:6.1f} min  {case.title}")
    counts = [runs_and_seconds(case) for case in cases]
    print(f"{'all':24} {'':9} {sum(c[0] for c in counts):5} runs {sum(c[1] for c in counts) / 60:6.1f} min")
    return 0


def _fresh(parent: Path) -> Path:
    """A new directory named after the time."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for suffix in ("", *(f"-{n}" for n in range(2, 100))):
        directory = parent / (stamp + suffix)
        try:
            directory.mkdir(parents=True)
        except FileExistsError:
            continue
        return directory
    raise SystemExit(f"{parent}: too many runs within one second")
