"""What the hosted workflows keep to: the code of others is pinned, every job says what it may, and runs where something runs.

    python3 -m unittest discover tests/workflows      needs PyYAML
"""

import re
import unittest
from pathlib import Path

import yaml

WORKFLOWS = sorted((Path(__file__).resolve().parents[2] / ".github/workflows").glob("*.yml"))

#: What GitHub offers and has not announced the end of (actions/runner-images, 2026-08).
RUNNERS = {
    *("ubuntu-latest", "ubuntu-24.04", "ubuntu-24.04-arm", "ubuntu-26.04", "ubuntu-26.04-arm"),
    *("macos-latest", "macos-15", "macos-15-intel", "macos-26", "macos-26-intel"),
    *("windows-latest", "windows-2025", "windows-11-arm"),
}
#: A name, the commit, and the version behind it, as in `actions/checkout@3d3c… # v7.0.1`.
PINNED = re.compile(r"(?P<name>[\w.-]+/[\w./-]+)@(?P<commit>[0-9a-f]{40}) # (?P<version>v\d+\.\d+\.\d+)")
MATRIX = re.compile(r"\$\{\{ *matrix\.([\w-]+) *\}\}")


def actions(jobs):
    """What the jobs use of others: steps, and workflows as jobs."""
    for job in jobs.values():
        for used in [job, *job.get("steps", ())]:
            if "uses" in used:
                yield used["uses"]


def runners(job):
    """Where a job runs, under every value of its matrix."""
    said = job.get("runs-on", "")
    for label in said if isinstance(said, list) else [said]:
        of_matrix = MATRIX.fullmatch(str(label))
        if not of_matrix:
            yield label
            continue
        matrix, axis = job.get("strategy", {}).get("matrix", {}), of_matrix[1]
        values = [*matrix.get(axis, ()), *(row[axis] for row in matrix.get("include", ()) if axis in row)]
        yield from values or [label]


def problems(text):
    """What is wrong with a workflow, by its text: comments are none of YAML's."""
    workflow = yaml.safe_load(text)
    jobs = workflow["jobs"]
    pinned = {f"{found['name']}@{found['commit']}" for found in PINNED.finditer(text)}
    for used in actions(jobs):
        if used not in pinned:
            yield f"{used} is not pinned as owner/name@commit # vX.Y.Z"
    if workflow.get("permissions") != {}:
        yield "permissions of the workflow are not {}: each job has its own"
    for name, job in jobs.items():
        if not isinstance(job.get("permissions"), dict):
            yield f"{name} has no permissions of its own"
        if not isinstance(job.get("timeout-minutes"), int):
            yield f"{name} may run for six hours"
        for runner in runners(job):
            if runner not in RUNNERS:
                yield f"{name} runs on {runner}, which is not offered for long"


class Workflows(unittest.TestCase):
    def test_they_hold(self):
        self.assertGreater(len(WORKFLOWS), 2)
        found = [f"{path.name}: {problem}" for path in WORKFLOWS for problem in problems(path.read_text(encoding="utf-8"))]
        self.assertEqual(found, [])

    def test_an_action_has_one_version(self):
        versions = {}
        for path in WORKFLOWS:
            for found in PINNED.finditer(path.read_text(encoding="utf-8")):
                versions.setdefault(found["name"], set()).add((found["commit"], found["version"]))
        self.assertEqual([name for name, pins in versions.items() if len(pins) > 1], [])

    def test_only_what_signs_or_publishes_gets_an_identity(self):
        for path in WORKFLOWS:
            for name, job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].items():
                if "id-token" in job["permissions"]:
                    self.assertEqual(path.name, "release.yml", name)
                    self.assertNotIn("strategy", job, name)

    def test_defects_are_found(self):
        good = """
permissions: {}
jobs:
  one:
    runs-on: ${{ matrix.os }}
    timeout-minutes: 5
    permissions: { contents: read }
    strategy: { matrix: { os: [ubuntu-latest], include: [{ os: macos-15-intel }] } }
    steps:
      - uses: a/b/c@0123456789012345678901234567890123456789 # v1.2.3
"""
        self.assertEqual(list(problems(good)), [])
        table = [
            ("@0123456789012345678901234567890123456789 # v1.2.3", "@v1 # v1.2.3", "is not pinned"),
            (" # v1.2.3", " # v1", "is not pinned"),
            (" # v1.2.3", "", "is not pinned"),
            ("    permissions: { contents: read }\n", "", "one has no permissions"),
            ("    permissions: { contents: read }\n", "    permissions: write-all\n", "one has no permissions"),
            ("permissions: {}\n", "", "of the workflow"),
            ("permissions: {}\n", "permissions: { contents: write }\n", "of the workflow"),
            ("macos-15-intel", "macos-13", "runs on macos-13"),
            ("[ubuntu-latest]", "[ubuntu-20.04]", "runs on ubuntu-20.04"),
            ("matrix.os }}", "matrix.machine }}", "runs on ${{ matrix.machine }}"),
            ("    timeout-minutes: 5\n", "", "six hours"),
        ]
        for before, after, problem in table:
            found = list(problems(good.replace(before, after, 1)))
            self.assertEqual(len(found), 1, (before, after, found))
            self.assertIn(problem, found[0])


if __name__ == "__main__":
    unittest.main()
