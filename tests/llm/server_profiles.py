"""Bodies as different servers send them, each with what it means: the documented API and those that deviate.

Written after the servers' sources and bug reports. One entry is one deviation that a client has to survive.
"""

from dataclasses import dataclass, field
from typing import Any

from tests.loopback import response_body


@dataclass(frozen=True)
class Profile:
    """A body for a request with ``max_output_tokens=64``, and the decoded fields that matter."""

    body: dict[str, Any]
    expected: dict[str, Any] = field(default_factory=dict)


def message(*parts: Any, **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": part} if isinstance(part, str) else part for part in parts]
    return {"type": "message", "role": "assistant", "content": content, **more}


def usage(input_tokens: int, output_tokens: int, **more: Any) -> dict[str, Any]:
    return {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "total_tokens": input_tokens + output_tokens,
        **more,
    }


def llama_cpp(output: list[dict[str, Any]], output_tokens: int) -> dict[str, Any]:
    return {
        "completed_at": 1790000001,
        "created_at": 1790000000,
        "id": "resp_llama",
        "model": "gemma",
        "object": "response",
        "output": output,
        "status": "completed",
        "usage": usage(100, output_tokens),
    }


REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "5?"}]}

PROFILES = {
    "standard": Profile(
        response_body("5916"),
        {
            "text": "5916",
            "status": "completed",
            "anomalies": (),
            "suspected_truncation": False,
            "parts": ((1, 0, None, 4),),
        },
    ),
    "standard, cut": Profile(
        response_body("59", status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        {"text": "59", "status": "incomplete", "incomplete_reason": "max_output_tokens", "suspected_truncation": False},
    ),
    "standard, cut while thinking": Profile(
        response_body("", status="incomplete", incomplete_details={"reason": "max_output_tokens"}, output=[REASONING]),
        {"text": "", "parts": (), "incomplete_reason": "max_output_tokens"},
    ),
    "a reason added later": Profile(
        response_body("5", status="incomplete", incomplete_details={"reason": "steered", "by": 1}),
        {"text": "5", "incomplete_reason": "steered"},
    ),
    "incomplete without details": Profile(
        response_body("5", status="incomplete", incomplete_details=None), {"text": "5", "incomplete_reason": None}
    ),
    "refusal": Profile(
        response_body("", output=[message({"type": "refusal", "refusal": "I can't."})]),
        {"text": "", "refusals": ("I can't.",), "status": "completed"},
    ),
    "refusal beside text": Profile(
        response_body("", output=[message("5916", {"type": "refusal", "refusal": "No."}, {"type": "refusal"})]),
        {"text": "5916", "refusals": ("No.", "")},
    ),
    "commentary, then the final answer": Profile(
        response_body(
            "", output=[message("Let me see: 1", phase="commentary"), message("59", "16", phase="final_answer")]
        ),
        {"text": "5916", "parts": ((1, 0, "final_answer", 2), (1, 1, "final_answer", 2))},
    ),
    "commentary only": Profile(
        response_body("", output=[message("5916", phase="commentary")]), {"text": "", "parts": ()}
    ),
    "commentary beside a message without phase": Profile(
        response_body("", output=[message("no", phase="commentary"), message("5916", phase=None)]), {"text": "5916"}
    ),
    "a final answer that is empty": Profile(
        response_body("", output=[message("no"), message(phase="final_answer")]), {"text": ""}
    ),
    "a phase added later": Profile(
        response_body("", output=[message("5", phase="musing"), message("6")]), {"text": "6"}
    ),
    "several parts and messages": Profile(
        response_body("", output=[message("a", "b"), REASONING, message("c\n")]),
        {"text": "abc\n", "parts": ((0, 0, None, 1), (0, 1, None, 1), (2, 0, None, 2))},
    ),
    "a tool call nobody asked for": Profile(
        response_body("", output=[{"type": "function_call", "name": "f", "arguments": "{}"}, message("5")]),
        {"text": "5", "anomalies": ("output[0]: item of type 'function_call'",)},
    ),
    "items, parts and fields added later": Profile(
        response_body(
            "", output=[{"type": "hologram"}, message({"type": "output_scent"}, "5", mood="good")], extra=[1.5]
        ),
        {
            "text": "5",
            "anomalies": ("output[0]: item of type 'hologram'", "output[1].content[0]: part of type 'output_scent'"),
        },
    ),
    "null text": Profile(
        response_body("", output=[message({"type": "output_text", "text": None}, "5")]),
        {"text": "5", "anomalies": ("output[0].content[0]: text is null",)},
    ),
    "null content": Profile(response_body("", output=[message() | {"content": None}]), {"text": "", "parts": ()}),
    "the user's message echoed": Profile(
        response_body("", output=[message("9999") | {"role": "user"}, message("5")]),
        {"text": "5", "anomalies": ("output[0]: message of role 'user'",)},
    ),
    "no usage": Profile(response_body("5", usage=None), {"text": "5", "usage": None}),
    "llama.cpp": Profile(
        llama_cpp([{**REASONING, "encrypted_content": ""}, message("5916", id="msg_1", status="completed")], 4),
        {"text": "5916", "suspected_truncation": False, "anomalies": ()},
    ),
    "llama.cpp, cut but completed": Profile(
        llama_cpp([message("5916 5916")], 64),
        {"text": "5916 5916", "status": "completed", "suspected_truncation": True},
    ),
    "llama.cpp, no text": Profile(llama_cpp([], 1), {"text": "", "parts": ()}),
    "vLLM": Profile(
        {
            key: value
            for key, value in response_body(
                "5916",
                usage=usage(
                    100,
                    4,
                    input_tokens_details={
                        "cached_tokens": 0,
                        "input_tokens_per_turn": [],
                        "cached_tokens_per_turn": [],
                    },
                    output_tokens_details={
                        "reasoning_tokens": 0,
                        "tool_output_tokens": 0,
                        "output_tokens_per_turn": [],
                    },
                ),
                input_messages=None,
                output_messages=None,
            ).items()
            if key != "error"
        },
        {"text": "5916", "anomalies": ()},
    ),
    "vLLM, completed with nothing": Profile(
        response_body("", output=[], usage=usage(0, 0)),
        {"text": "", "usage": None, "anomalies": ("usage of 0 tokens",)},
    ),
    "transformers serve": Profile(
        {
            "id": "resp_t",
            "object": "response",
            "model": "m",
            "status": "completed",
            "output": [message("5", annotations=[])],
        },
        {"text": "5", "usage": None},
    ),
    "Ollama": Profile(
        response_body(
            "",
            output=[{"type": "reasoning", "summary": [], "encrypted_content": "plain thoughts: 1234"}, message("5916")],
            usage=usage(
                100, 9, input_tokens_details={"cached_tokens": 0}, output_tokens_details={"reasoning_tokens": 0}
            ),
        ),
        {"text": "5916", "anomalies": ("a reasoning item beside reasoning_tokens 0",)},
    ),
    "LM Studio": Profile(response_body("", output=[message("5916")]), {"text": "5916"}),
    "a proxy without incomplete_details, id or model": Profile(
        {"object": "response", "status": "completed", "output": [message("5")], "usage": usage(9, 1)},
        {"text": "5", "response_id": "", "returned_model": "", "anomalies": ("no 'id'", "no 'model'")},
    ),
    "a proxy without object": Profile(
        {"id": "r", "model": "m", "status": "completed", "output": [message("5")], "usage": usage(9, 1)},
        {"text": "5", "anomalies": ("no 'object'",)},
    ),
}
