"""Writes cases of `plinth metrics` with the values that other programs give for them.

One file per task; each line is a case: {"case", "options", "labels", "reference", "candidate", "expected":
{"reference": {METRIC: value}, "candidate": {...}}}, rows as they stand in prediction files; null is "not defined".
statistics.json holds intervals and probabilities by SciPy and by a Tango interval of its own.

Made with Python 3.11, numpy 2.4.6, scipy 1.17.1, scikit-learn 1.9.1, pycocotools 2.0.11, jiwer 4.0.0,
pytrec-eval-terrier 0.5.11:
    pip install numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 pycocotools==2.0.11 jiwer==4.0.0 \
        pytrec-eval-terrier==0.5.11
    python tests/data/metrics/make.py
"""
import contextlib
import io
import json
import math
import os
import unicodedata
import warnings

import jiwer
import numpy as np
import pytrec_eval
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from scipy import optimize, special, stats
from sklearn import metrics as sk

warnings.filterwarnings("ignore")
FOLDER = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(20261130)


def number(value):
    return None if value is None or math.isnan(value) else float(value)


def write(task, cases):
    with open(os.path.join(FOLDER, task + ".jsonl"), "w", encoding="utf-8") as file:
        for case in cases:
            file.write(json.dumps(case, ensure_ascii=False, separators=(",", ":")) + "\n")


# --- classification ---------------------------------------------------------------------------------------


def class_scores(truth, predicted, positive=None):
    out = {"accuracy": sk.accuracy_score(truth, predicted)}
    for average in ("micro", "macro", "weighted"):
        out["f1_" + average] = sk.f1_score(truth, predicted, average=average, zero_division=0)
    out["precision_macro"] = sk.precision_score(truth, predicted, average="macro", zero_division=0)
    out["recall_macro"] = sk.recall_score(truth, predicted, average="macro", zero_division=0)
    if positive is not None:
        binary = [t == positive for t in truth], [p == positive for p in predicted]
        out["precision"] = sk.precision_score(*binary, zero_division=0)
        out["recall"] = sk.recall_score(*binary, zero_division=0)
        out["f1"] = sk.f1_score(*binary, zero_division=0)
    return out


def curves(truth, scores):
    both = len(set(truth)) == 2
    return {"roc_auc": sk.roc_auc_score(truth, scores) if both else float("nan"),
            "average_precision": sk.average_precision_score(truth, scores) if any(truth) else float("nan")}


def confusion(truth, sides):
    names = sorted(set(truth).union(*sides))
    return {"classes": [str(n) for n in names],
            "confusion": {side: sk.confusion_matrix(truth, predicted, labels=names).tolist()
                          for side, predicted in zip(("reference", "candidate"), sides)}}


def binary_case(name, n, digits, rate=0.4):
    truth = [int(x) for x in rng.random(n) < rate]
    base = np.array(truth) * 0.3 + rng.random(n) * 0.7
    sides = [np.round(base, digits), np.round(np.clip(base + rng.normal(0, 0.08, n), 0, 1), digits)]
    expected = {}
    for side, scores in zip(("reference", "candidate"), sides):
        expected[side] = class_scores(truth, [int(s >= 0.5) for s in scores], 1) | curves(truth, scores)
    for threshold in (0.5, 0.8):
        expected["candidate"]["crossings@%g" % threshold] = np.mean((sides[0] >= threshold) != (sides[1] >= threshold))
    return {"case": name, "options": {"thresholds": [0.5, 0.8]},
            "labels": [{"id": i, "label": t} for i, t in enumerate(truth)],
            "reference": [{"id": i, "score": float(s)} for i, s in enumerate(sides[0])],
            "candidate": [{"id": i, "score": float(s)} for i, s in enumerate(sides[1])],
            "expected": expected,
            "details": confusion(truth, [[int(s >= 0.5) for s in scores] for scores in sides])}


def label_case(name, names, n, accuracy):
    truth = [names[i] for i in rng.integers(0, len(names), n)]
    sides = [[t if rng.random() < accuracy else names[rng.integers(0, len(names))] for t in truth] for _ in range(2)]
    return {"case": name, "options": {},
            "labels": [{"id": str(i), "label": t} for i, t in enumerate(truth)],
            "reference": [{"id": str(i), "label": p} for i, p in enumerate(sides[0])],
            "candidate": [{"id": str(i), "label": p} for i, p in enumerate(sides[1])],
            "expected": {side: class_scores(truth, predicted) for side, predicted in zip(("reference", "candidate"), sides)},
            "details": confusion(truth, sides)}


def scores_case(name, n, classes, digits):
    truth = [int(i) for i in rng.integers(0, classes, n)]
    expected, rows = {}, []
    for side in ("reference", "candidate"):
        logits = rng.normal(0, 1, (n, classes)) + 1.5 * np.eye(classes)[truth]
        scores = special.softmax(np.round(logits, digits), axis=1)
        predicted = [int(p) for p in scores.argmax(axis=1)]
        expected[side] = class_scores(truth, predicted)
        one_hot = np.eye(classes)[truth]
        expected[side]["roc_auc_ovr"] = sk.roc_auc_score(truth, scores, multi_class="ovr", average="macro")
        expected[side]["average_precision_ovr"] = np.mean(
            [sk.average_precision_score(one_hot[:, c], scores[:, c]) for c in range(classes)])
        rows.append([{"id": i, "scores": [float(v) for v in s]} for i, s in enumerate(scores)])
    return {"case": name, "options": {}, "labels": [{"id": i, "label": t} for i, t in enumerate(truth)],
            "reference": rows[0], "candidate": rows[1], "expected": expected}


def classification():
    cases = [binary_case("ties", 60, 1), binary_case("no ties", 80, 6), binary_case("few positives", 50, 2, 0.06),
             binary_case("only negatives", 12, 2, -1), binary_case("only positives", 12, 2, 2),
             binary_case("one sample", 1, 3), binary_case("all scores equal", 20, 0)]
    cases += [label_case("three classes", ["cat", "dog", "狗"], 70, 0.7),
              label_case("many classes", [f"c{i:02d}" for i in range(30)], 60, 0.5),
              label_case("one class", ["x"], 9, 1.0), label_case("all wrong", ["a", "b"], 20, 0.0)]
    cases += [scores_case("scores of three classes", 50, 3, 3), scores_case("scores with ties", 40, 4, 0)]
    write("classification", cases)


# --- detection --------------------------------------------------------------------------------------------

COCO_NAMES = ["map", "ap50", "ap75", "ap_small", "ap_medium", "ap_large", "ar_1", "ar_10", "ar_100", "ar_small",
              "ar_medium", "ar_large"]


def coco_scores(labels, side):
    coco = COCO()
    names = sorted({o["class"] for row in labels + side for o in row["objects"]})
    ids = {name: i + 1 for i, name in enumerate(names)}
    annotations = []
    for row in labels:
        for o in row["objects"]:
            annotations.append({"id": len(annotations) + 1, "image_id": row["id"], "category_id": ids[o["class"]],
                                "bbox": o["box"], "area": o.get("area", o["box"][2] * o["box"][3]),
                                "iscrowd": int(o.get("crowd", False))})
    detections = [{"image_id": row["id"], "category_id": ids[o["class"]], "bbox": o["box"], "score": o["score"]}
                  for row in side for o in row["objects"]]
    with contextlib.redirect_stdout(io.StringIO()):
        coco.dataset = {"images": [{"id": row["id"]} for row in labels], "annotations": annotations,
                        "categories": [{"id": i, "name": n} for n, i in ids.items()]}
        coco.createIndex()
        if detections:
            results = coco.loadRes(detections)
        else:
            results = COCO()
            results.dataset = {"images": coco.dataset["images"], "annotations": [], "categories": coco.dataset["categories"]}
            results.createIndex()
        evaluation = COCOeval(coco, results, "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return {n: (None if v == -1 else float(v)) for n, v in zip(COCO_NAMES, evaluation.stats)}


def boxes(count, size, classes, crowd=0.0):
    out = []
    for _ in range(count):
        w, h = rng.uniform(4, size, 2)
        o = {"class": classes[rng.integers(0, len(classes))],
             "box": [round(float(v), 1) for v in (rng.uniform(0, 300), rng.uniform(0, 300), w, h)]}
        if rng.random() < crowd:
            o["crowd"] = True
        out.append(o)
    return out


def detect(truth, noise, digits, classes, extra):
    out = []
    for o in truth:
        for _ in range(1 if rng.random() < 0.8 else 2):
            if rng.random() < 0.12:
                continue
            out.append({"class": o["class"] if rng.random() < 0.9 else classes[rng.integers(0, len(classes))],
                        "box": [round(max(float(v + rng.normal(0, noise)), 0.5), 1) for v in o["box"]],
                        "score": round(float(rng.random()), digits)})
    for o in boxes(extra, 90, classes):
        out.append(o | {"score": round(float(rng.random()) * 0.6, digits)})
    rng.shuffle(out)
    return out


def detection_case(name, images, objects, size, digits, crowd=0.0, classes=("car", "person", "人"), area=False, extra=2):
    classes = list(classes)
    labels = [{"id": i + 1, "objects": boxes(int(rng.integers(0, objects + 1)), size, classes, crowd)} for i in range(images)]
    if area:
        for row in labels:
            for o in row["objects"]:
                o["area"] = round(o["box"][2] * o["box"][3] * float(rng.uniform(0.5, 1)), 1)
    sides = [[{"id": row["id"], "objects": detect(row["objects"], noise, digits, classes, extra)} for row in labels]
             for noise in (1.5, 3.0)]
    return {"case": name, "options": {}, "labels": labels, "reference": sides[0], "candidate": sides[1],
            "expected": {"reference": coco_scores(labels, sides[0]), "candidate": coco_scores(labels, sides[1])}}


def detection():
    cases = [detection_case("plain", 12, 5, 120, 4), detection_case("equal scores", 12, 5, 120, 1),
             detection_case("crowds", 12, 6, 120, 3, crowd=0.3), detection_case("small objects", 10, 6, 40, 3),
             detection_case("areas of masks", 10, 5, 150, 3, crowd=0.1, area=True),
             detection_case("one class", 5, 4, 200, 2, classes=("a",)),
             detection_case("no truth", 3, 0, 100, 2), detection_case("only crowds", 6, 3, 100, 2, crowd=1.0)]
    many = detection_case("more than a hundred", 2, 6, 80, 3, classes=("a",), extra=130)
    nothing = detection_case("nothing detected", 3, 3, 100, 2)
    for row in nothing["candidate"]:
        row["objects"] = []
    nothing["expected"]["candidate"] = coco_scores(nothing["labels"], nothing["candidate"])
    stacked = {"id": 1, "objects": [{"class": "a", "box": [10, 10, 40, 40]}, {"class": "a", "box": [10, 10, 40, 40]},
                                    {"class": "a", "box": [0, 0, 100, 100], "crowd": True}]}
    side = [{"id": 1, "objects": [{"class": "a", "box": [10, 10, 40, 40], "score": 0.5}] * 4 +
             [{"class": "b", "box": [1, 1, 2, 2], "score": 0.9}, {"class": "a", "box": [60, 60, 30, 30], "score": 0.7}]}]
    labels = [stacked]
    cases += [many, nothing, {"case": "identical boxes", "options": {}, "labels": labels, "reference": side, "candidate": side,
                              "expected": {"reference": coco_scores(labels, side), "candidate": coco_scores(labels, side)}}]
    write("detection", cases)


# --- speech recognition -----------------------------------------------------------------------------------


def corrupt(symbols, rate, vocabulary):
    out = []
    for s in symbols:
        r = rng.random()
        if r < rate / 3:
            continue
        out.append(vocabulary[rng.integers(0, len(vocabulary))] if r < rate * 2 / 3 else s)
        if r > 1 - rate / 3:
            out.append(vocabulary[rng.integers(0, len(vocabulary))])
    return out


def zh_tokens(text):
    """The table [zh]: NFKC, lower case, punctuation to spaces; each Chinese character a word."""
    text = unicodedata.normalize("NFKC", text).lower()
    text = "".join(" " if unicodedata.category(c)[0] in "PS" else c for c in text)
    words, open_word = [], False
    for c in text:
        alone = "\u3040" <= c <= "\u30ff" or "\u3400" <= c <= "\u9fff"
        if c.isspace():
            open_word = False
        elif alone or not open_word:
            words.append(c)
            open_word = not alone
        else:
            words[-1] += c
    return words, "".join(text.split())


def asr_scores(truths, answers, language):
    if language == "zh":
        cut = [(zh_tokens(t), zh_tokens(a)) for t, a in zip(truths, answers)]
        return {"wer": jiwer.wer([" ".join(t[0]) for t, _ in cut], [" ".join(a[0]) for _, a in cut]),
                "cer": jiwer.cer([t[1] for t, _ in cut], [a[1] for _, a in cut])}
    return {"wer": jiwer.wer(truths, answers), "cer": jiwer.cer(truths, answers)}


def asr_case(name, truths, sides, language="plain"):
    rows = [[{"id": i, "text": t} for i, t in enumerate(texts)] for texts in [truths] + sides]
    return {"case": name, "options": {"language": language}, "labels": rows[0], "reference": rows[1], "candidate": rows[2],
            "expected": {side: asr_scores(truths, texts, language) for side, texts in zip(("reference", "candidate"), sides)}}


def asr():
    english = "the a pump valve pressure is high low at seven stop start motor five bar open closed and of to".split()
    chinese = list("泵阀门压力高低启动停止电机请打开关闭三号温度过热传感器报警检查")
    cases = []
    for name, longest, rate in (("short", 6, 0.4), ("long", 90, 0.2), ("all wrong", 10, 1.0), ("all right", 8, 0.0)):
        truths = [[english[j] for j in rng.integers(0, len(english), rng.integers(1, longest + 1))] for _ in range(12)]
        sides = [[" ".join(corrupt(t, rate, english)) for t in truths] for _ in range(2)]
        cases.append(asr_case(name, [" ".join(t) for t in truths], sides))
    spaces = ["a  b", " a b ", "a\tb c", "a \t b", "a\u3000b c", "A b", "don't stop", "", "a\u00a0b", "x\n\ny"]
    cases.append(asr_case("white space", spaces, [["a b"] * len(spaces), ["a", "b", "a b c", "", "a b", "a b", "dont stop", "", "a", "x y"]]))
    cases.append(asr_case("silence", ["", ""], [["", "uh yes"], ["", ""]]))
    for language in ("plain", "zh"):
        truths, sides = [], [[], []]
        for _ in range(14):
            t = [chinese[j] for j in rng.integers(0, len(chinese), rng.integers(1, 24))]
            truths.append("".join(t) + ("。" if rng.random() < 0.5 else ""))
            for side in sides:
                text = "".join(corrupt(t, 0.25, chinese))
                side.append(text + (",好 的 OK" if rng.random() < 0.3 else ""))
        cases.append(asr_case("Chinese, " + language, truths, sides, language))
    mixed = ["打开 PLC 的 3 号阀门,谢谢!", "ＰＬＣ报警：温度 ８５℃", "请 check 一下 motor,OK?", "《手册》第12页"]
    cases.append(asr_case("mixed", mixed, [["打开plc的3号阀门谢谢", "PLC报警温度85℃", "请check一下马达 ok", "手册 第 12 页"],
                                           ["打开PRC的三号阀门,谢", "报警 PLC 温度 85 度", "请 check 下 motor", "手册第十二页"]], "zh"))
    write("asr", cases)


# --- retrieval --------------------------------------------------------------------------------------------


def trec_scores(labels, side, ks):
    qrels = {str(r["id"]): r["relevant"] if isinstance(r["relevant"], dict) else {d: 1 for d in r["relevant"]} for r in labels}
    run = {}
    for r in side:
        run[str(r["id"])] = (r["scores"] if "scores" in r else
                             {d: float(len(r["ranking"]) - i) for i, d in enumerate(r["ranking"])})
    cuts = ",".join(str(k) for k in ks)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"map", "recip_rank", "ndcg", "ndcg_cut." + cuts, "recall." + cuts, "P." + cuts})
    values = evaluator.evaluate(run)
    # A query whose run is empty is left out by the evaluator and counts 0 in trec_eval -c.
    mean = lambda key: sum(v[key] for v in values.values()) / len(labels)
    out = {"map": mean("map"), "mrr": mean("recip_rank"), "ndcg": mean("ndcg")}
    for k in ks:
        out |= {f"recall@{k}": mean(f"recall_{k}"), f"precision@{k}": mean(f"P_{k}"), f"ndcg@{k}": mean(f"ndcg_cut_{k}")}
    return out


def retrieval_case(name, queries, documents, digits, ks, grades=3, ranking=False, listed=False):
    names = [f"d{i}" for i in range(documents)] + ["文档", "D-é"]
    labels, sides = [], [[], []]
    for q in range(queries):
        judged = [names[i] for i in rng.permutation(len(names))[: rng.integers(1, len(names))]]
        relevant = {d: int(rng.integers(-1 if grades > 1 else 0, grades + 1)) for d in judged}
        if listed:
            relevant = [d for d in judged][: max(1, len(judged) // 3)]
        labels.append({"id": f"q{q}", "relevant": relevant})
        for side in sides:
            found = [names[i] for i in rng.permutation(len(names))[: rng.integers(1, len(names) + 1)]]
            if ranking:
                side.append({"id": f"q{q}", "ranking": found})
            else:
                side.append({"id": f"q{q}", "scores": {d: round(float(rng.normal()), digits) for d in found}})
    return {"case": name, "options": {"ks": ks}, "labels": labels, "reference": sides[0], "candidate": sides[1],
            "expected": {side: trec_scores(labels, rows, ks) for side, rows in zip(("reference", "candidate"), sides)}}


def retrieval():
    cases = [retrieval_case("scores", 12, 20, 6, [1, 3, 5, 10]), retrieval_case("ties", 12, 20, 0, [1, 2, 5, 10]),
             retrieval_case("rankings", 10, 12, 3, [1, 5, 10], ranking=True),
             retrieval_case("lists of relevant", 8, 15, 2, [1, 5, 10], listed=True),
             retrieval_case("grades of one", 10, 10, 2, [1, 5], grades=1), retrieval_case("cut beyond", 6, 4, 3, [1, 50])]
    near = {"a": 1.0, "b": 1.00000001, "c": 0.99999999, "d": 0.5}
    labels = [{"id": "q", "relevant": {"a": 1, "b": 2, "c": 0, "d": 3}}, {"id": "none", "relevant": {"a": 0}}]
    side = [{"id": "q", "scores": near}, {"id": "none", "scores": near}]
    cases.append({"case": "equal in single precision, and none relevant", "options": {"ks": [1, 2, 3]}, "labels": labels,
                  "reference": side, "candidate": side,
                  "expected": {s: trec_scores(labels, side, [1, 2, 3]) for s in ("reference", "candidate")}})
    write("retrieval", cases)


# --- logits and forecasting: by their definitions, in NumPy and SciPy ---------------------------------------


def logits_scores(reference, candidate, ks):
    a = [np.array(p, float) for r in reference for p in (r["logits"] if isinstance(r["logits"][0], list) else [r["logits"]])]
    b = [np.array(p, float) for r in candidate for p in (r["logits"] if isinstance(r["logits"][0], list) else [r["logits"]])]
    cosines = [float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y))) for x, y in zip(a, b)]
    kl = lambda x, y: float(special.rel_entr(special.softmax(x), special.softmax(y)).sum())
    kls = [kl(x, y) for x, y in zip(a, b)]
    order = lambda x: np.lexsort((np.arange(len(x)), -x))
    margin = lambda x: float(np.sort(x)[-1] - np.sort(x)[-2])
    flips = [order(x)[0] != order(y)[0] for x, y in zip(a, b)]
    out = {"max_abs": max(float(np.abs(x - y).max()) for x, y in zip(a, b)),
           "mean_abs": np.mean([np.abs(x - y).mean() for x, y in zip(a, b)]),
           "cosine": np.mean(cosines), "cosine_min": min(cosines), "kl": np.mean(kls), "kl_max": max(kls),
           "kl_reverse": np.mean([kl(y, x) for x, y in zip(a, b)]), "top1_flips": np.mean(flips),
           "flip_margin_max": max([margin(x) for x, f in zip(a, flips) if f], default=0.0),
           "top1_margin": np.mean([margin(y) for y in b])}
    for k in ks:
        share = lambda x, y: len(set(order(x)[:k]) & set(order(y)[:k])) / min(k, len(x))
        out[f"overlap@{k}"] = np.mean([share(x, y) for x, y in zip(a, b)])
    return out


def logits():
    cases = []
    for name, n, vocabulary, positions, noise, digits in (
            ("close", 20, 12, 1, 1e-3, 9), ("far", 20, 12, 1, 1.0, 6), ("ties", 20, 8, 1, 0.7, 0),
            ("sequences", 8, 10, 4, 0.2, 6), ("two values", 10, 2, 1, 0.5, 3)):
        rows = [[], []]
        for i in range(n):
            count = int(rng.integers(1, positions + 1))
            a = rng.normal(0, 3, (count, vocabulary))
            for side, values in zip(rows, (a, a + rng.normal(0, noise, a.shape))):
                values = np.round(values, digits)
                side.append({"id": i, "logits": values.tolist() if positions > 1 else values[0].tolist()})
        ks = [1, 3, 5]
        cases.append({"case": name, "options": {"ks": ks}, "labels": None, "reference": rows[0], "candidate": rows[1],
                      "expected": {"reference": {}, "candidate": logits_scores(rows[0], rows[1], ks)}})
    huge = [{"id": 0, "logits": [1e308, -1e308, 0]}, {"id": 1, "logits": [-700, 700, 0]}]
    cases.append({"case": "huge", "options": {"ks": [1]}, "labels": None, "reference": huge, "candidate": huge,
                  "expected": {"reference": {}, "candidate": {"max_abs": 0, "cosine": 1, "cosine_min": 1, "kl": 0, "kl_reverse": 0,
                                                              "top1_flips": 0, "overlap@1": 1}}})
    write("logits", cases)


def forecast_scores(labels, side):
    columns = {"mase": [], "wql": [], "mae": [], "rmse": [], "coverage_80": []}
    for truth_row, row in zip(labels, side):
        y = np.array([np.nan if v is None else v for v in truth_row["truth"]], float)
        seen = ~np.isnan(y)
        q = {float(k): np.array(v, float)[seen] for k, v in row["quantiles"].items()}
        y = y[seen]
        c = np.array([v for v in truth_row.get("context", []) if v is not None], float)
        m = truth_row.get("season", 1)
        scale = np.abs(c[m:] - c[:-m]).mean() if len(c) > m else np.nan
        if len(y) == 0:
            continue
        mae = np.abs(y - q[0.5]).mean()
        columns["mae"].append(mae)
        columns["rmse"].append(math.sqrt(((y - q[0.5]) ** 2).mean()))
        if scale > 0:
            columns["mase"].append(mae / max(scale, 1e-12))
        pinball = np.mean([np.maximum(l * (y - v), (l - 1) * (y - v)).mean() for l, v in q.items()])
        if np.abs(y).mean() > 0:
            columns["wql"].append(2 * pinball / max(np.abs(y).mean(), 1e-12))
        if 0.1 in q and 0.9 in q:
            columns["coverage_80"].append(((y >= q[0.1]) & (y <= q[0.9])).mean())
    return {k: float(np.mean(v)) if v else None for k, v in columns.items()}


def forecasting():
    cases = []
    for name, n, horizon, levels, gaps in (("deciles", 8, 12, [i / 10 for i in range(1, 10)], 0.1), ("median", 6, 5, [0.5], 0),
                                           ("gaps", 8, 6, [0.1, 0.5, 0.9], 0.6)):
        labels, sides = [], [[], []]
        for i in range(n):
            series = np.round(10 + 5 * np.sin(np.arange(60) / 4) + rng.normal(0, 1, 60), 3)
            truth = [None if rng.random() < gaps else float(v) for v in series[48:48 + horizon]]
            season = int(rng.integers(1, 13))
            row = {"id": i, "truth": truth, "season": season,
                   "context": [None if rng.random() < gaps / 3 else float(v) for v in series[:48]]}
            if i == 1:
                row["context"] = [3.0] * 20  # flat: no MASE
            if i == 2:
                row["truth"] = [0.0] * horizon  # no WQL
            labels.append(row)
            for side in sides:
                middle = series[48:48 + horizon] + rng.normal(0, 0.8, horizon)
                side.append({"id": i, "quantiles": {"%g" % l: [round(float(v + 2 * stats.norm.ppf(l)), 4) for v in middle] for l in levels}})
        cases.append({"case": name, "options": {}, "labels": labels, "reference": sides[0], "candidate": sides[1],
                      "expected": {s: forecast_scores(labels, rows) for s, rows in zip(("reference", "candidate"), sides)}})
    write("forecasting", cases)


# --- intervals and probabilities ----------------------------------------------------------------------------


def tango_statistic(b, c, n, theta):
    """Score statistic with the nuisance share found by maximising the likelihood numerically."""
    low, high = max(0.0, -theta), (1 - theta) / 2

    def loss(q):
        p = q + theta
        total = 0.0
        for count, share in ((b, p), (c, q), (n - b - c, 1 - p - q)):
            if count > 0:
                if share <= 0:
                    return math.inf
                total -= count * math.log(share)
        return total

    q = optimize.minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-13}).x
    for end in (low, high):
        if loss(end) < loss(q):
            q = end
    variance = n * (2 * q + theta - theta * theta)
    return (b - c - n * theta) / math.sqrt(variance) if variance > 0 else 0.0


def tango(b, c, n):
    z = stats.norm.ppf(0.975)
    middle = (b - c) / n
    lower = optimize.brentq(lambda t: tango_statistic(b, c, n, t) - z, -1 + 1e-9, middle - 1e-12, xtol=1e-13)
    upper = optimize.brentq(lambda t: tango_statistic(b, c, n, t) + z, middle + 1e-12, 1 - 1e-9, xtol=1e-13)
    return [lower, upper]


def statistics():
    out = {"wilson": [], "tango": [], "mcnemar": [], "student": []}
    for k, n in ((0, 10), (1, 10), (5, 10), (10, 10), (3, 7), (999, 1000), (1, 1)):
        interval = stats.binomtest(k, n).proportion_ci(method="wilson")
        out["wilson"].append([k, n, interval.low, interval.high])
    for b, c, n in ((0, 0, 20), (1, 0, 20), (0, 1, 20), (3, 7, 50), (7, 3, 50), (12, 12, 100), (40, 10, 60), (1, 2, 5000)):
        out["tango"].append([b, c, n, *tango(b, c, n)])
    for b, c in ((0, 0), (1, 0), (0, 5), (3, 7), (7, 3), (10, 10), (1, 30), (400, 450), (10000, 10400)):
        out["mcnemar"].append([b, c, stats.binomtest(min(b, c), b + c, 0.5).pvalue if b + c else 1.0])
    for p in (0.975, 0.5, 0.025, 0.9, 0.9999):
        for degrees in (1, 2, 5, 29, 1000, 1000000):
            out["student"].append([p, degrees, float(stats.t.ppf(p, degrees))])
    with open(os.path.join(FOLDER, "statistics.json"), "w", encoding="utf-8") as file:
        json.dump(out, file, indent=0)


def clean(value):
    """Numbers of NumPy to JSON's, NaN to null."""
    if isinstance(value, dict):
        return {k: clean(v) for k, v in value.items()}
    if isinstance(value, list):
        return [clean(v) for v in value]
    if isinstance(value, (np.floating, float)):
        return number(value)
    return value


if __name__ == "__main__":
    plain_write = write
    write = lambda task, cases: plain_write(task, [c | {"expected": clean(c["expected"])} for c in cases])
    classification()
    detection()
    asr()
    retrieval()
    logits()
    forecasting()
    statistics()
