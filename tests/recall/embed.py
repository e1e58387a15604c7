"""Writes vectors.bin: the vectors of the retrieval set, by all-MiniLM-L6-v2 (Apache 2.0).

`python3 embed.py MODEL.onnx TOKENIZER.json [--alone]`, with numpy, onnxruntime and tokenizers. The
shipped file was made with the 8-bit ONNX form of the model. Vectors have length 1 and are stored as
8-bit integers (times 508), 384 a row: turns with the turn before (alone with `--alone`), facts,
questions, questions without names.
"""
import json
import pathlib
import sys

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

HERE = pathlib.Path(__file__).parent
TOKENS = Tokenizer.from_file(sys.argv[2])
TOKENS.enable_truncation(128)
TOKENS.enable_padding()
MODEL = onnxruntime.InferenceSession(sys.argv[1])


def embed(texts):
    different = sorted(set(texts), key=len)
    vectors = {}
    for begin in range(0, len(different), 64):
        some = different[begin:begin + 64]
        coded = TOKENS.encode_batch(some)
        ids = np.array([c.ids for c in coded], np.int64)
        mask = np.array([c.attention_mask for c in coded], np.int64)
        hidden = MODEL.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})[0]
        mean = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        vectors.update(zip(some, mean / np.linalg.norm(mean, axis=1, keepdims=True)))
    return np.stack([vectors[text] for text in texts])


def rows(name):
    return [json.loads(line) for line in open(HERE / f"{name}.jsonl", encoding="utf-8")]


def nameless(question, names):
    """As galatea_core::fusion::embedded_question."""
    words = [w for w in question.split() if w.strip(".,?!:;'\"").removesuffix("'s") not in names]
    return " ".join(words) or question


turns, facts, questions = rows("turns"), rows("facts"), rows("questions")
texts = [t["text"] for t in turns]
# As galatea_core::fusion::embedded_text.
if "--alone" not in sys.argv:
    texts = [(texts[n - 1][:200] + "\n" if n else "") + text for n, text in enumerate(texts)]
parts = [texts, [f["text"] for f in facts], [q["question"] for q in questions],
         [nameless(q["question"], q["names"]) for q in questions]]
with open(HERE / "vectors.bin", "wb") as out:
    for part in parts:
        out.write(np.clip(np.rint(embed(part) * 508), -127, 127).astype(np.int8).tobytes())
