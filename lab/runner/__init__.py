"""The benchmark runner: fresh processes, interleaved rounds, paired ratios.

Reading order: `config` (what is measured), `schedule` (in which order), `processes`, `sampling` and `measure`
(how one run is made), `campaign` (how the runs are strung together), `rows` (what is kept), `figures`, `verdicts`
`report`, `targets` and `results` (what is made of it).
"""
