"""Universities by the published profile, any number of them: `universities(n)` gives one table per source predicate each.

A university depends on its number only, so that ten universities begin with the one. The seed is chosen so that one has
100,000 facts and ten have 1.27 million. `RandomState` draws the same numbers in every version of numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Numbers: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]

SEED = 2067
KNOWN_UNIVERSITIES = 1000
RANKS = {
    "FullProfessor": ((7, 10), (15, 20)),
    "AssociateProfessor": ((10, 14), (10, 18)),
    "AssistantProfessor": ((8, 11), (5, 10)),
    "Lecturer": ((5, 7), (0, 5)),
}
STUDENTS = ("UndergraduateStudent", "GraduateStudent")


def universities(count: int) -> Iterator[dict[str, pa.Table]]:
    return (_University(number).tables() for number in range(count))


class _Group:
    """Things of one kind, department by department: the k-th of a department is its first plus k."""

    def __init__(self, counts: Numbers, first: int) -> None:
        self.counts = counts
        self.starts = first + np.cumsum(counts) - counts
        self.department = np.repeat(np.arange(len(counts)), counts)
        self.members = first + np.arange(int(counts.sum()))

    def __len__(self) -> int:
        return len(self.members)

    def numbers(self) -> Numbers:
        """Counted from 0 in each department."""
        return self.members - self.starts[self.department]


class _University:
    def __init__(self, number: int) -> None:
        self._number = number
        self._random = np.random.RandomState([SEED, number])
        self._size = 0
        self._names: list[pa.Array] = []
        self._identifiers: list[pa.Array] = []
        self._facts: dict[str, list[tuple[Numbers, ...]]] = {}
        self._populate()

    def tables(self) -> dict[str, pa.Table]:
        """The facts with the identifiers of things in place of their numbers."""
        identifiers = pa.concat_arrays(self._identifiers)
        names = pa.concat_arrays(self._names)
        tables = {
            f"src_{predicate}": _table(
                [identifiers.take(np.concatenate(column)) for column in zip(*parts, strict=True)]
            )
            for predicate, parts in self._facts.items()
        }
        others = np.arange(KNOWN_UNIVERSITIES, self._size)
        named = np.concatenate([others[: self._named], [self._number]])
        tables["src_name"] = _table([identifiers.take(named), names.take(named)])
        return tables | self._addresses(identifiers, names) | self._interests(identifiers)

    # -- things ------------------------------------------------------------------------------------------------------

    def _between(self, bounds: tuple[int, int], size: int) -> Numbers:
        return self._random.randint(bounds[0], bounds[1] + 1, size).astype(np.int64)

    def _things(self, kind: str, counts: Numbers) -> _Group:
        group = _Group(counts, self._size)
        names = _joined(kind, group.numbers())
        self._add(_joined("http://www.Department", group.department, f".University{self._number}.edu/", names), names)
        return group

    def _add(self, identifiers: pa.Array, names: pa.Array) -> None:
        self._identifiers.append(identifiers)
        self._names.append(names)
        self._size += len(identifiers)

    def _populate(self) -> None:
        known = _joined("University", np.arange(KNOWN_UNIVERSITIES))
        self._add(_joined("http://www.", known, ".edu"), known)
        departments = int(self._between((15, 25), 1)[0])
        names = _joined("Department", np.arange(departments))
        first_department = self._size
        self._add(_joined("http://www.", names, f".University{self._number}.edu"), names)
        self._departments = np.arange(first_department, self._size)
        university = np.array([self._number])
        self._state("University", university)
        self._state("Department", self._departments)
        self._state("subOrganizationOf", self._departments, np.repeat(university, departments))

        self._first_person = self._size
        ranks = {rank: self._things(rank, self._between(RANKS[rank][0], departments)) for rank in RANKS}
        faculty = _sum(ranks.values())
        students = {
            kind: self._things(kind, self._per_member(bounds, faculty))
            for kind, bounds in zip(STUDENTS, ((8, 14), (3, 4)), strict=True)
        }
        undergraduates, graduates = students.values()
        self._last_person = self._size
        self._professors = [ranks[rank] for rank in list(RANKS)[:3]]
        courses, graduate_courses = self._teach(ranks, "Course"), self._teach(ranks, "GraduateCourse")
        self._employ(ranks)
        for kind, group in students.items():
            self._state(kind, group.members)
            self._state("memberOf", group.members, self._departments[group.department])
        self._study(undergraduates, courses, (2, 4))
        self._study(graduates, graduate_courses, (1, 3))
        self._state("undergraduateDegreeFrom", graduates.members, self._anywhere(len(graduates)))
        self._advise(undergraduates, 0.2)
        self._advise(graduates, 1.0)
        self._assist(graduates, courses)
        self._publish(ranks, graduates)
        self._named = self._size - KNOWN_UNIVERSITIES
        groups = self._things("ResearchGroup", self._between((10, 20), departments))
        self._state("ResearchGroup", groups.members)
        self._state("subOrganizationOf", groups.members, self._departments[groups.department])

    def _per_member(self, bounds: tuple[int, int], faculty: Numbers) -> Numbers:
        """For each department the sum of one draw for each member of its faculty."""
        draws = self._between(bounds, int(faculty.sum()))
        return np.add.reduceat(draws, np.cumsum(faculty) - faculty)

    # -- facts -------------------------------------------------------------------------------------------------------

    def _state(self, predicate: str, *columns: Numbers) -> None:
        self._facts.setdefault(predicate, []).append(columns)

    def _teach(self, ranks: dict[str, _Group], kind: str) -> _Group:
        """One or two courses for each member of the faculty, of which nobody else is the teacher."""
        teachers = np.concatenate([group.members for group in ranks.values()])
        departments = np.concatenate([group.department for group in ranks.values()])
        teachers = teachers[np.argsort(departments, kind="stable")]
        loads = self._between((1, 2), len(teachers))
        group = self._things(kind, np.bincount(np.sort(departments), loads).astype(np.int64))
        self._state(kind, group.members)
        self._state("teacherOf", np.repeat(teachers, loads), group.members)
        return group

    def _employ(self, ranks: dict[str, _Group]) -> None:
        for rank, group in ranks.items():
            self._state(rank, group.members)
            self._state("worksFor", group.members, self._departments[group.department])
            for degree in ("undergraduateDegreeFrom", "mastersDegreeFrom", "doctoralDegreeFrom"):
                self._state(degree, group.members, self._anywhere(len(group)))
        full = ranks["FullProfessor"]
        self._state("headOf", self._any_of(full, np.arange(len(self._departments))), self._departments)

    def _study(self, students: _Group, courses: _Group, bounds: tuple[int, int]) -> None:
        self._state("takesCourse", *self._several(students, courses, self._between(bounds, len(students))))

    def _advise(self, students: _Group, share: float) -> None:
        """Some professor of the department, of any rank, for this share of the students."""
        chosen = self._random.random_sample(len(students)) < share
        department = students.department[chosen]
        counts = _sum(self._professors)[department]
        place = (self._random.random_sample(len(department)) * counts).astype(np.int64)
        advisors = np.zeros(len(department), np.int64)
        for rank in self._professors:
            inside = (place >= 0) & (place < rank.counts[department])
            advisors[inside] = (rank.starts[department] + place)[inside]
            place -= rank.counts[department]
        self._state("advisor", students.members[chosen], advisors)

    def _assist(self, graduates: _Group, courses: _Group) -> None:
        """A fifth of the graduates help with a course, a quarter of them with research."""
        draw = self._random.random_sample(len(graduates))
        teaching = draw < 0.2
        self._state("TeachingAssistant", graduates.members[teaching])
        helped = self._any_of(courses, graduates.department[teaching])
        self._state("teachingAssistantOf", graduates.members[teaching], helped)
        self._state("ResearchAssistant", graduates.members[draw >= 0.75])

    def _publish(self, ranks: dict[str, _Group], graduates: _Group) -> None:
        """Everybody's own publications; a graduate is a co-author of up to five of the department's."""
        authors = np.concatenate([group.members for group in ranks.values()])
        departments = np.concatenate([group.department for group in ranks.values()])
        written = np.concatenate([self._between(RANKS[rank][1], len(group)) for rank, group in ranks.items()])
        order = np.argsort(departments, kind="stable")
        publications = self._things("Publication", np.bincount(departments, written).astype(np.int64))
        self._state("Publication", publications.members)
        self._state("publicationAuthor", publications.members, np.repeat(authors[order], written[order]))
        graduate, publication = self._several(graduates, publications, self._between((0, 5), len(graduates)))
        self._state("publicationAuthor", publication, graduate)

    def _anywhere(self, size: int) -> Numbers:
        return self._between((0, KNOWN_UNIVERSITIES - 1), size)

    def _any_of(self, group: _Group, department: Numbers) -> Numbers:
        place = self._random.random_sample(len(department)) * group.counts[department]
        return group.starts[department] + place.astype(np.int64)

    def _several(self, people: _Group, group: _Group, counts: Numbers) -> tuple[Numbers, Numbers]:
        """For each person as many different members of the group: a first one, then every so many-th."""
        available = group.counts[people.department]
        first = self._random.random_sample(len(people)) * available
        stride = 1 + (self._random.random_sample(len(people)) * (available // 5)).astype(np.int64)
        repeated = np.repeat(np.arange(len(people)), counts)
        step = np.arange(len(repeated)) - np.repeat(np.cumsum(counts) - counts, counts)
        place = (first.astype(np.int64)[repeated] + step * stride[repeated]) % available[repeated]
        return people.members[repeated], group.starts[people.department[repeated]] + place

    def _addresses(self, identifiers: pa.Array, names: pa.Array) -> dict[str, pa.Table]:
        people = np.arange(self._first_person, self._last_person)
        who = identifiers.take(people)
        host = pc.replace_substring_regex(who, r"^http://www\.([^/]*)/.*$", r"@\1")
        return {
            "src_emailAddress": _table([who, _joined(names.take(people), host)]),
            "src_telephone": _table([who, _joined("555-", people)]),
        }

    def _interests(self, identifiers: pa.Array) -> dict[str, pa.Table]:
        who = np.concatenate([group.members for group in self._professors])
        return {
            "src_researchInterest": _table(
                [identifiers.take(who), _joined("Research", self._between((0, 29), len(who)))]
            )
        }


def _sum(groups: Iterable[_Group]) -> Numbers:
    """For each department how many the groups have together."""
    total: Numbers = np.sum([group.counts for group in groups], axis=0)
    return total


def _joined(*parts: str | Numbers | pa.Array) -> pa.Array:
    """Texts, put together element by element; a single text is repeated."""
    columns = [pa.array(part).cast(pa.string()) if isinstance(part, np.ndarray) else part for part in parts]
    return pc.binary_join_element_wise(*columns, "")


def _table(columns: list[pa.Array]) -> pa.Table:
    return pa.table(columns, names=[f"a{place}" for place in range(1, len(columns) + 1)])
