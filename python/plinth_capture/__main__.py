"""The command line: `python -m plinth_capture run|reference|show`. Exit codes are Plinth's."""

from __future__ import annotations

import argparse
import errno
import os
import shutil
import subprocess
import sys
from typing import List, Optional

from .errors import CaptureError

_BAD_INPUT, _ENVIRONMENT = 2, 3
# What the machine lacks rather than what the user gave.
_MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EFBIG, errno.EMFILE)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m plinth_capture", description=__doc__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    run = commands.add_parser("run", help="run a script and record the model that it calls")
    run.add_argument("script")
    run.add_argument("arguments", nargs="*", help="arguments of the script; options of the script stand behind --")
    run.add_argument("--out", default="cap", metavar="DIR", help="the folder to write (cap)")
    run.add_argument("--plan", metavar="FILE", help="what to record, as plinth locate --next-plan writes it")
    run.add_argument(
        "--model",
        metavar="MODULE:ATTRIBUTE",
        help="the model; :NAME is a global of the script; default: the first module that is called",
    )
    run.add_argument("--level", choices=("module", "operator"), default="module")
    run.add_argument("--full", action="append", metavar="PATTERN", help="names to write in full; * is anything")
    run.add_argument("--forced-by", metavar="CAPTURE", help="feed this capture's inputs to each recorded module")
    run.add_argument("--run-id", metavar="ID")
    run.add_argument("--repeat", type=int, metavar="N")
    run.add_argument(
        "--repeats",
        type=int,
        metavar="N",
        help="run the script N times, each in a process of its own, into DIR/repeat-0000 and so on",
    )
    run.add_argument(
        "--flip-last-bits",
        action="store_true",
        default=None,
        help="repeats beyond the first run on inputs whose last bits are flipped, for the noise band",
    )
    run.add_argument("--seed", type=int, metavar="N", help="recorded beside the capture; the script sets it")
    run.add_argument(
        "--weights", action="append", metavar="FILE", help="what the weights were loaded from; evidence names its digest"
    )
    truth = commands.add_parser("reference", help="recompute your own operators by your references in double")
    truth.add_argument("capture")
    truth.add_argument("--module", required=True, metavar="FILE.py", help="functions with @plinth_capture.reference")
    truth.add_argument("--out", required=True, metavar="DIR", help="the capture of truth, for plinth replay --truth")
    show = commands.add_parser("show", help="list the entries of a capture")
    show.add_argument("capture")
    return parser


def _repeats(options, words: List[str]) -> int:
    """Runs this command once for each repeat. All of them are there in the end, or none."""
    from .digests import new_run_id

    if options.repeats < 1 or options.repeat is not None:
        raise CaptureError("--repeats %d: 1 or more is right, without --repeat" % options.repeats)
    if os.path.exists(options.out):
        raise CaptureError("%s: exists; another folder is right" % options.out)
    run_id = options.run_id or new_run_id()
    split = words.index("--") if "--" in words else len(words)
    for repeat in range(options.repeats):
        own = ["--repeats=0", "--repeat=%d" % repeat, "--run-id=%s" % run_id]
        own.append("--out=%s" % os.path.join(options.out, "repeat-%04d" % repeat))
        code = subprocess.call([sys.executable, "-m", "plinth_capture"] + words[:split] + own + words[split:])
        if code:
            # Of several ranks the first one clears away.
            if os.environ.get("RANK", "0") == "0":
                shutil.rmtree(options.out, ignore_errors=True)
            return code if code > 0 else _ENVIRONMENT
    return 0


def _run(options) -> int:
    try:
        from . import session
    except ImportError as error:
        print("plinth_capture: error: torch is needed: %s" % error, file=sys.stderr)
        return _ENVIRONMENT
    from .run import run_script

    for name in ("out", "plan", "level", "full", "forced_by", "run_id", "repeat", "seed", "weights", "flip_last_bits"):
        value = getattr(options, name)
        if value is not None:
            session.defaults[name] = value
    run_script(options.script, options.arguments, options.model)
    return 0


def _reference(options) -> int:
    from . import references

    references.load_module(options.module)
    done = references.compute(options.capture, options.out)
    for reason in done.left_out:
        print("plinth_capture: note: left out: %s" % reason, file=sys.stderr)
    print("%d operators recomputed into %s" % (done.operators, options.out))
    return 0


def _show(options) -> int:
    from .reading import read

    try:
        for entry in read(options.capture):
            kept = "full" if entry.tensor else "statistics"
            print("%6d  %-60s %-18s %s%s  %s" % (entry.index, entry.key, entry.op, entry.dtype, list(entry.shape), kept))
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has seen enough; what is buffered still must not be written
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def main(arguments: Optional[List[str]] = None) -> int:
    parser = _parser()
    words = list(sys.argv[1:] if arguments is None else arguments)
    split = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:split])
    if options.command == "run":
        options.arguments += words[split + 1 :]
    elif split < len(words):
        parser.error("nothing is expected behind --")
    if options.command is None:
        parser.print_usage(sys.stderr)
        return _BAD_INPUT
    try:
        if options.command == "run" and options.repeats:
            return _repeats(options, words)
        return {"run": _run, "reference": _reference, "show": _show}[options.command](options)
    except CaptureError as error:
        print("plinth_capture: error: %s" % error, file=sys.stderr)
        cause = error.__cause__
        machine = isinstance(cause, OSError) and cause.errno in _MACHINE
        return _ENVIRONMENT if machine else _BAD_INPUT


if __name__ == "__main__":
    sys.exit(main())
