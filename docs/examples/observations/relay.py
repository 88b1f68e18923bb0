#!/usr/bin/env python3
"""Makes relay-*.toml, one file a sweep, from relay_buffer_sweeps.csv beside it: `python3 relay.py`."""

import csv
import pathlib

HERE = pathlib.Path(__file__).parent
TOTAL_BYTES = 48 << 20
ROLES = ("client", "proxy", "server")
NAMES = {
    ("two-node", "client"): "client",
    ("two-node", "server"): "server",
    ("two-node", "client+server"): "both",
    ("three-node", "client"): "client-3",
    ("three-node", "server"): "server-3",
    ("three-node", "proxy"): "proxy",
    ("three-node", "client+proxy"): "client-proxy",
    ("three-node", "client+server"): "client-server",
    ("three-node", "proxy+server"): "proxy-server",
    ("three-node", "client+proxy+server"): "all-3",
}
HEAD = """\
# Made by relay.py from relay_buffer_sweeps.csv. The client's calls are bytes over its buffer; those of proxy and server are
# counts as printed, and missing where the source prints none.
schema = "narrows.observations/1"
title = "relay, {nodes} nodes: the buffers of {shrunk} shrink"
source = "Client / proxy / server buffer experiment, Onion Routing archive, Naval Research Laboratory"
"""


def table(values):
    """An inline table of what is known."""
    return "{ " + ", ".join(f"{key} = {value}" for key, value in values.items() if value) + " }"


def observation(row):
    buffers = {role: row[f"{role}_buffer_bytes"] for role in ROLES}
    size = min(int(value) for value in buffers.values() if value)
    calls = {
        "client": -(-TOTAL_BYTES // int(buffers["client"])),
        "proxy": row["proxy_io_count"],
        "server": row["server_io_count"],
    }
    lines = [
        "",
        "[[observation]]",
        f'id = "{size}"',
        'op = "send"',
        f"elapsed_s = {row['elapsed_s']}",
        f"bytes_per_s = {float(row['throughput_kib_per_s']) * 1024:.1f}  # mean of the rates of the runs",
        f"bytes = {{ application = {TOTAL_BYTES} }}",
        f"calls = {table(calls)}",
        f"factor = {table({f'{role}_buffer_bytes': value for role, value in buffers.items()})}",
    ]
    if row["proxy_user_s"]:
        lines += [f"user_s = {{ proxy = {row['proxy_user_s']} }}", f"system_s = {{ proxy = {row['proxy_sys_s']} }}"]
    return "\n".join(lines) + "\n"


def main():
    with open(HERE / "relay_buffer_sweeps.csv", newline="") as source:
        rows = list(csv.DictReader(source))
    for (topology, shrunk), name in NAMES.items():
        own = [row for row in rows if (row["topology"], row["shrunk"]) == (topology, shrunk)]
        words = shrunk.replace("+", " and ", shrunk.count("+")) if shrunk.count("+") < 2 else "all roles"
        head = HEAD.format(nodes=topology.removesuffix("-node"), shrunk=words)
        (HERE / f"relay-{name}.toml").write_text(head + "".join(map(observation, own)))


main()
