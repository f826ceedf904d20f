"""The configuration of the server: fields of its arguments and its environment flags.

Only names listed here, and flags of plain types, ever leave the process; keys, paths of
files and whatever SGLang marks as secret do not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

INBOX = "TURNWATCH_SGLANG_INBOX"  # set by the HTTP process for its children: "pid:path"

FIELDS = tuple(
    """
    served_model_name weight_version dtype quantization kv_cache_dtype load_format
    attention_backend prefill_attention_backend decode_attention_backend sampling_backend grammar_backend
    dsa_prefill_backend dsa_decode_backend dsa_topk_backend dsa_paged_mqa_logits_backend
    enable_deepseek_v4_fp4_indexer qsa_indexer_dtype fp8_gemm_runner_backend fp4_gemm_runner_backend bf16_gemm_backend
    moe_runner_backend moe_a2a_backend tp_size dp_size ep_size pp_size dcp_size enable_dp_attention enable_dp_lm_head
    page_size chunked_prefill_size enable_mixed_chunk disable_overlap_schedule disable_radix_cache
    disable_cuda_graph cuda_graph_max_bs disable_cuda_graph_padding debug_cuda_graph
    enable_two_batch_overlap enable_single_batch_overlap enable_torch_compile enable_flashinfer_allreduce_fusion
    disable_custom_all_reduce speculative_algorithm speculative_num_steps speculative_eagle_topk
    speculative_num_draft_tokens enable_deterministic_inference max_running_requests mem_fraction_static
    stream_interval incremental_streaming_output tool_call_parser reasoning_parser disaggregation_mode
    enable_hierarchical_cache enable_hisparse enable_lora kv_canary
    """.split()
)
# Fields that differ from start to start: told by the health route, not by headers,
# lest every restart look like another configuration.
RESTLESS = ("model_path", "random_seed")
OVERLAP = "SGLANG_OPT_USE_MULTI_STREAM_OVERLAP"
PRIVATE = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PORT", "_PID")
PLAIN = (bool, int, float)
DULL = ("", "off", "none", "null", "auto")
LONGEST = 96  # characters of a value


def keep_tokens() -> int:
    """Keep_tokens returns how many ids a side of a turn may have to be kept: 0 unless TURNWATCH_KEEP_TOKENS=1."""
    if os.environ.get("TURNWATCH_KEEP_TOKENS") != "1":
        return 0
    return number("TURNWATCH_KEEP_TOKENS_MAX", 65536)


def number(name: str, default: int) -> int:
    """Number reads a whole number from the environment."""
    try:
        return max(0, int(os.environ[name]))
    except (KeyError, ValueError):
        return default


def text(value: Any) -> str:
    """Text spells a value as contracts want it: on and off, one line of printable ASCII, bounded."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    return "".join(c if " " <= c <= "~" else "?" for c in str(value)[:LONGEST])


def flags() -> dict[str, str]:
    """Flags returns the environment flags that shape how the model runs, as this process has them.

    These are all SGLANG_OPT_* and SGLANG_DSV4_* flags and every other plain one that is set.
    """
    try:
        from sglang.srt.environ import envs
    except ImportError:
        return {}
    found: dict[str, str] = {}
    for name in dir(type(envs)):
        if not name.startswith("SGLANG_") or name.endswith(PRIVATE):
            continue
        field = getattr(envs, name)
        shapes = name.startswith(("SGLANG_OPT_", "SGLANG_DSV4_"))
        try:
            if getattr(field, "secret", False) or not (shapes or field.is_set()):
                continue
            value = field.get()
        except Exception:
            continue
        if isinstance(value, PLAIN) or (shapes and isinstance(value, str)):
            found[name] = text(value)
    return found


def set_flags(found: Iterable[str]) -> list[str]:
    """Set_flags returns those which the operator, or SGLang at start, has set."""
    return [name for name in found if name in os.environ]


def reader(manager: Any) -> Callable[[str], Any]:
    """Reader returns how to look up a configuration field in this release; None stands for absent."""
    args = getattr(manager, "server_args", None)
    lookup = getattr(manager, "config_value", None)

    def read(name: str) -> Any:
        if lookup is not None:
            try:
                return lookup(name)
            except Exception:
                return None
        return getattr(args, name, None)

    return read


def fields(manager: Any) -> dict[str, str]:
    """Fields returns every listed field that has a value, the derived ones first."""
    read = reader(manager)
    found = dict(derived(read))
    for name in (*FIELDS, *RESTLESS):
        value = read(name)
        if isinstance(value, (str, *PLAIN)):
            found[name] = text(value)
    return found


def derived(read: Callable[[str], Any]) -> Iterable[tuple[str, str]]:
    """Derived yields the names that the sidecar knows and SGLang spells otherwise."""
    graphs = read("cuda_graph_config")
    decode = getattr(graphs, "decode", None)
    if decode is not None:
        backend = str(getattr(decode.backend, "value", decode.backend))
        yield "cuda_graph", text(backend != "disabled")
        yield "cuda_graph_decode_backend", text(backend)
        if isinstance(decode.max_bs, int):
            yield "cuda_graph_max_bs", text(decode.max_bs)
    elif isinstance(read("disable_cuda_graph"), bool):
        yield "cuda_graph", text(not read("disable_cuda_graph"))
    if read("enable_deepseek_v4_fp4_indexer") is True:
        yield "index_dtype", "fp4"
    elif isinstance(dtype := read("qsa_indexer_dtype"), str) and dtype not in DULL:
        yield "index_dtype", text(dtype)


def limits(args: Any) -> list[str]:
    """Limits returns what the plugin cannot do on a server with these arguments, a sentence each."""
    found = []
    workers = getattr(args, "tokenizer_worker_num", 1)
    if isinstance(workers, int) and workers > 1:
        found.append(
            f"no headers and no facts route: --tokenizer-worker-num={workers} serves HTTP from processes "
            "that load no plugins; poll, or read the status log instead"
        )
    try:
        from sglang.srt.environ import envs

        rust = bool(envs.SGLANG_RUST_SERVER.get())
    except Exception:
        rust = False
    if rust:
        found.append("no headers and no facts route: SGLANG_RUST_SERVER=1 serves HTTP without Python")
    return found


class Headers:
    """Headers keeps the configuration as response headers, within a budget of bytes and number.

    Clients give up on heads that are too large (100 fields in Python, 8 KiB in some proxies),
    so a head names what is set and leaves out what is off; the health route names all.
    """

    MOST = 64
    FIRST = ("index_dtype", "cuda_graph", "overlap")

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.flags: dict[str, str] = {}  # as the scheduler has them, once it told
        self.given: list[str] = []  # those of them that are set

    def tell(self, found: dict[str, str], given: list[str]) -> None:
        """Tell takes the flags of a scheduler process."""
        self.flags, self.given = found, given

    def all(self, manager: Any) -> dict[str, str]:
        """All returns every field and flag by its name as a tag."""
        if not self.flags:  # before the first turn: as this process has them
            found = flags()
            self.tell(found, set_flags(found))
        values = fields(manager)
        if OVERLAP in self.flags:
            values["overlap"] = self.flags[OVERLAP]
        values.update((name.lower(), value) for name, value in sorted(self.flags.items()))
        return values

    def lines(self, manager: Any) -> list[tuple[bytes, bytes]]:
        """Lines returns the header lines, the most telling first."""
        values = self.all(manager)
        given = sorted(name.lower() for name in self.given)
        on = [n for n, v in values.items() if v not in DULL and n not in RESTLESS and not n.startswith("sglang_")]
        lines: list[tuple[bytes, bytes]] = []
        size = 0
        for name in dict.fromkeys([*self.FIRST, *given, *on]):
            if name not in values:
                continue
            line = (f"x-sglang-config-{name.replace('_', '-')}".encode(), values[name].encode())
            size += len(line[0]) + len(line[1]) + 4
            if size > self.budget or len(lines) == self.MOST:
                break
            lines.append(line)
        return lines
