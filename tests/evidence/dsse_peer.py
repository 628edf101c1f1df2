"""Verifies a unit of evidence with securesystemslib, which knows nothing of Plinth.

Usage: dsse_peer.py FOLDER PUBLIC_KEY.pem; ends with 77 where the library is missing.
"""

import copy
import hashlib
import json
import pathlib
import sys

try:
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import VerificationError
    from securesystemslib.signer import SSlibKey
except ImportError as error:
    print(f"skipped: {error}; tests/evidence/setup makes an interpreter that has it")
    sys.exit(77)


def verified(path, key):
    """The payload of an envelope that `key` has signed."""
    document = json.loads(path.read_text())
    envelope = Envelope.from_dict(copy.deepcopy(document))
    accepted = envelope.verify([key], 1)
    assert list(accepted) == [key.keyid]
    assert envelope.payload_type == "application/vnd.in-toto+json"
    # What it writes is what Plinth reads: the same keys and values.
    assert envelope.to_dict() == document, path
    # And it refuses what is not signed.
    envelope.payload = envelope.payload.replace(b"plinth", b"plinht", 1)
    try:
        envelope.verify([key], 1)
    except VerificationError:
        return json.loads(Envelope.from_dict(document).payload)
    raise AssertionError(f"{path}: an altered payload was accepted")


def main():
    folder, public_key = pathlib.Path(sys.argv[1]), load_pem_public_key(pathlib.Path(sys.argv[2]).read_bytes())
    named = json.loads((folder / "statement.dsse.json").read_text())["signatures"][0]["keyid"]
    key = SSlibKey.from_crypto(public_key, keyid=named)
    statement = verified(folder / "statement.dsse.json", key)
    result = verified(folder / "test-result.dsse.json", key)

    assert statement["_type"] == result["_type"] == "https://in-toto.io/Statement/v1"
    files = {s["name"]: s["digest"] for s in statement["subject"] if not s["name"].startswith("model:")}
    for name, digest in files.items():
        data = (folder / name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == digest["sha256"], name
    there = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    assert there == set(files) | {"statement.dsse.json"}, there

    assert result["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    predicate = result["predicate"]
    assert predicate["result"] in ("PASSED", "WARNED", "FAILED")
    assert all(set(c) & {"uri", "digest", "content"} for c in predicate["configuration"])
    tests = predicate["passedTests"] + predicate["warnedTests"] + predicate["failedTests"]
    assert len(tests) == 7 == len(set(tests)), tests
    print(f"{folder}: {len(files)} files and two signatures are good")


main()
