"""The server: run folders in; predictions, streams and pages over HTTP out.

The process that speaks HTTP (`app`, `gate`, `connections`) never loads torch. Each model runs in a
process of its own (`engine`), and frames pass between the two (`frames`).
"""
