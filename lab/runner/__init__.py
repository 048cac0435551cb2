"""The benchmark runner: fresh processes, interleaved rounds, paired ratios.

Reading order: `config` (what is measured), `schedule` (in which order), `sampling`, `measure` and `troubled` (how one
run is made; harness/processes.py starts and ends what it takes), `campaign` (how the runs are strung together), `rows` (what is kept), `figures`, `verdicts`
`report`, `targets` and `results` (what is made of it).
"""
