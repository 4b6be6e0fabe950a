"""The paper's marker genes (Tables IV and V) as column numbers of the two gene-expression tables.

Two readings of the same tables are kept. "published" holds the columns the authors' own scripts
count; "corrected" has every probe whose description names the gene. Beside further probes of nine
leukemia genes, six of them with the very same description, it mends three slips: colon marker 29
lacked column 628, the very homolog it names; leukemia marker 11 had no column at all and is 5506;
leukemia marker 23 was given 2878, an Epstein–Barr-virus-induced protein, where the
small-RNA-associated one is 1027.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Reading = Literal["corrected", "published"]
DatasetName = Literal["colon", "leukemia"]


@dataclass(frozen=True)
class Marker:
    """One row of the paper's marker tables, and the columns that measure it.

    Attributes
    ----------
    marker_id : int
        Number in the paper's table, from 1.
    name : str
        Marker as printed there. Names may repeat: leukemia 1 and 15 are both myeloperoxidase.
    columns : tuple of int
        Columns of the table, from 0; several where several probes measure the marker, none
        where the published reading has none.
    """

    marker_id: int
    name: str
    columns: tuple[int, ...]


def markers_of(dataset: DatasetName, reading: Reading) -> tuple[Marker, ...]:
    """Say which columns count as known markers of a dataset, in one of the two readings."""
    if reading not in get_args(Reading):
        raise ValueError(f"markers must be 'corrected' or 'published', got {reading!r}")
    table = _CORRECTED[dataset]
    if reading == "corrected":
        return table
    slips = _PUBLISHED_SLIPS[dataset]
    return tuple(Marker(m.marker_id, m.name, slips.get(m.marker_id, m.columns)) for m in table)


_CORRECTED: dict[DatasetName, tuple[Marker, ...]] = {
    # Table V of the paper.
    "colon": (
        Marker(1, "Phospholipase A2", (295, 683, 1235)),
        Marker(2, "Keratin 6 isoform", (451,)),
        Marker(3, "Protein-tyrosine phosphatase PTP-H1", (608,)),
        Marker(4, "Transcription factor IIIA", (1041,)),
        Marker(5, "Viral (v-raf) oncogene homolog 1", (1043,)),
        Marker(6, "Dual specificity mitogen-activated protein kinase kinase 1", (1165,)),
        Marker(7, "Transmembrane carcinoembryonic antigen", (917, 1279)),
        Marker(8, "Oncoprotein 18", (1352,)),
        Marker(9, "Phosphoenolpyruvate carboxykinase", (1386,)),
        Marker(10, "Extracellular signal-regulated kinase 1", (1393, 1870)),
        Marker(11, "26 kDa cell surface protein TAPA-1", (554,)),
        Marker(12, "Id1", (268,)),
        Marker(13, "Interferon-inducible protein 9-27", (146,)),
        Marker(14, "Nonspecific crossreacting antigen", (1463,)),
        Marker(15, "cAMP response element regulatory protein (CREB2)", (112,)),
        Marker(16, "Splicing factor (CC1.4)", (325,)),
        Marker(17, "Nucleolar protein (B23)", (137,)),
        Marker(18, "Lactate dehydrogenase-A (LDH-A)", (209,)),
        Marker(19, "Guanine nucleotide-binding protein G(OLF)", (158, 170, 175)),
        Marker(20, "LI-cadherin", (1143,)),
        Marker(21, "Lysozyme", (316,)),
        Marker(22, "Prolyl 4-hydroxylase (P4HB)", (225,)),
        Marker(23, "Eukaryotic initiation factor 4AII", (207,)),
        Marker(24, "Interferon-inducible protein 1-8D", (163,)),
        Marker(25, "Dipeptidase", (701,)),
        Marker(26, "Heat shock 27 kDa protein", (1790,)),
        Marker(27, "Tyrosine-protein kinase receptor TIE-1 precursor", (534,)),
        Marker(28, "Mitochondrial matrix protein P1 precursor", (512,)),
        Marker(29, "Eukaryotic initiation factor EIF-4A homolog", (1, 2, 282, 613, 628)),
    ),
    # Table IV of the paper.
    "leukemia": (
        Marker(1, "Myeloperoxidase", (1778,)),
        Marker(2, "CD13", (1816,)),
        Marker(3, "CD33", (1833,)),
        Marker(4, "HOXA9 Homeo box A9", (3188, 3846)),
        Marker(5, "MYBL2", (4129,)),
        Marker(6, "CD19", (6224, 6973)),
        Marker(7, "CD10 (CALLA)", (1085,)),
        Marker(8, "TCL1 (T cell leukemia)", (4679,)),
        Marker(9, "C-myb", (1700, 5771)),
        Marker(10, "Deoxyhypusine synthase", (3763, 6514)),
        Marker(11, "KIAA0220", (5506,)),
        Marker(12, "G-gamma globin", (2344,)),
        Marker(13, "Delta-globin", (6883,)),
        Marker(14, "Brain-expressed HHCPA78 homolog", (2481,)),
        Marker(15, "Myeloperoxidase", (6214,)),
        Marker(16, "NPM1 Nucleophosmin", (1838, 3577)),
        Marker(17, "Probable protein disulfide isomerase ER-60 precursor", (535, 5577, 6167)),
        Marker(18, "CD34", (2441,)),
        Marker(19, "CD24", (5687,)),
        Marker(20, "60S ribosomal protein L23", (281, 4252)),
        Marker(21, "5-aminolevulinic acid synthase", (5224,)),
        Marker(22, "HLA class II histocompatibility antigen", (4016,)),
        Marker(23, "Epstein-Barr virus small RNA-associated protein", (1027,)),
        Marker(24, "HNRPA1 Heterogeneous nuclear ribonucleoprotein A1", (4629, 6457)),
        Marker(25, "Azurocidin", (2401,)),
        Marker(26, "Red cell anion exchanger (EPB3, AE1, Band 3)", (1878, 4594)),
        Marker(27, "Topoisomerase II beta", (5500,)),
        Marker(28, "Probable G protein-coupled receptor LCR1 homolog", (5551,)),
        Marker(29, "Int-6", (3520,)),
        Marker(30, "Alpha-tubulin", (1173, 1840, 4467, 4909, 6914)),
        Marker(31, "Terminal transferase", (1684,)),
        Marker(32, "Glycophorin B precursor", (5950, 5951, 6795)),
    ),
}

# What the authors' scripts have in place of the above.
_PUBLISHED_SLIPS: dict[DatasetName, dict[int, tuple[int, ...]]] = {
    "colon": {29: (1, 2, 282, 613)},
    "leukemia": {
        4: (3188,),
        6: (6224,),
        9: (5771,),
        11: (),
        16: (3577,),
        20: (281,),
        23: (2878,),
        24: (4629,),
        26: (4594,),
        30: (1173, 4467, 4909, 6914),
        32: (5951,),
    },
}
