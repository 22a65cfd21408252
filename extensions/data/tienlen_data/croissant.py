"""The metadata of a data set in Croissant 1.0, with its fields of responsible AI (RAI).

https://docs.mlcommons.org/croissant/docs/croissant-spec.html; the library ``mlcroissant`` checks it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

FILE: Final = "croissant.json"
_SPECIFICATIONS: Final = ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"]
_OF_CROISSANT: Final = (
    "citeAs",
    "column",
    "equivalentProperty",
    "extract",
    "field",
    "fileObject",
    "fileProperty",
    "fileSet",
    "format",
    "includes",
    "isLiveDataset",
    "jsonPath",
    "key",
    "md5",
    "parentField",
    "path",
    "recordSet",
    "references",
    "regex",
    "repeated",
    "replace",
    "samplingRate",
    "separator",
    "source",
    "subField",
    "transform",
)
CONTEXT: Final = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    **{name: f"cr:{name}" for name in _OF_CROISSANT},
}
# By the beginning of Arrow's name of the type.
_TYPES: Final = {"int": "sc:Integer", "float": "sc:Float", "double": "sc:Float"}
_PLAYED: Final = {
    "dataCollection": "Programs play each other in a simulator; no person plays.",
    "dataCollectionType": "Simulation",
    "dataBiases": "The decisions are those of the agents that the settings name, and of the situations that"
    " these agents reach.",
    "personalSensitiveInformation": "None: there are no people in it.",
}
_RECORDED: Final = {
    "dataCollection": "Records of rounds, which were given to the command, replayed by the engine.",
    "dataCollectionType": "Others",
    "dataBiases": "Those of whoever played and chose the records.",
    "personalSensitiveInformation": "A record has cards and plays, no names. Whoever publishes records of"
    " people has to know that they may.",
}
_OF_ALL: Final = {
    "dataLimitations": "One variant of the rules. A strong agent's choice is no proof that it is right.",
    "dataUseCases": "Imitation learning, offline reinforcement learning, inference of hidden cards.",
    "dataSocialImpact": "The game is also played for money. A policy that was learned from this data can be"
    " used to play unfairly on platforms that do not allow programs.",
    "dataReleaseMaintenancePlan": "Whoever publishes the data set maintains it; the settings in it make the"
    " same bytes again.",
}


def croissant(title: str, about: str, version: str, tables: Mapping[str, Any], *, is_played: bool) -> str:
    """The metadata as JSON-LD, the same bytes at every call.

    Args:
        title: of the data set.
        about: a sentence on where it is from.
        version: of its schema, three numbers.
        tables: by the name of a table and its column: the Arrow type, and what it means.
        is_played: agents played the rounds; else they come from records.
    """
    ethics = (_PLAYED if is_played else _RECORDED) | _OF_ALL
    content = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": _SPECIFICATIONS,
        "name": title,
        "description": about,
        "version": version,
        **{f"rai:{name}": text for name, text in ethics.items()},
        "distribution": [
            {
                "@type": "cr:FileSet",
                "@id": f"{name}-files",
                "name": f"{name}-files",
                "encodingFormat": "application/x-parquet",
                "includes": f"{name}/*.parquet",
            }
            for name in tables
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": name,
                "name": name,
                "field": [_field(name, column, *what) for column, what in columns.items()],
            }
            for name, columns in tables.items()
        ],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _field(table: str, column: str, kind: str, meaning: str) -> dict[str, Any]:
    inner = kind.removeprefix("list<element: ")
    types = [found for start, found in _TYPES.items() if inner.startswith(start)]
    return {
        "@type": "cr:Field",
        "@id": f"{table}/{column}",
        "name": column,
        "description": meaning,
        "dataType": types[0] if types else "sc:Text",  # and bytes, which Croissant has no name for
        **({"repeated": True} if inner != kind else {}),
        "source": {"fileSet": {"@id": f"{table}-files"}, "extract": {"column": column}},
    }
