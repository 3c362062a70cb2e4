"""A field of the wrong JSON kind is an error that names the field: servers that trusted the kind have died of it."""

import json

import pytest
import wire
from servers import Served

A = '{"name":"A","shape":[1,4],"datatype":"FP32","data":[1,2,3,4]}'
B = '{"name":"B","shape":[1,4],"datatype":"FP32","data":[10,20,30,40]}'
GOOD = f'{{"inputs":[{A},{B}]}}'
KINDS = {"null": "null", "boolean": "true", "number": "7", "text": '"x"', "array": "[]", "object": "{}"}


def with_a(old: str, new: str) -> str:
    assert A.count(old) == 1
    return f'{{"inputs":[{A.replace(old, new)},{B}]}}'


def ask(served: Served, text: str | bytes) -> wire.Answer:
    return served.ask(wire.infer_text("add", text))


def refused(served: Served, text: str | bytes, *words: str) -> None:
    answer = ask(served, text)
    assert answer.status == 400, (answer.status, answer.body[:300])
    for word in words:
        assert word in answer.error(), answer.error()


def test_the_good_one(served: Served) -> None:
    assert ask(served, GOOD).outputs()["Y"].tolist() == [[11, 22, 33, 44]]


# ---- The document


@pytest.mark.parametrize("text", ["[]", "null", "true", "7", '"x"', "[1]", '[{"inputs":[]}]'])
def test_the_document_is_no_object(text: str, served: Served) -> None:
    refused(served, text, "object")


@pytest.mark.parametrize(
    "text",
    [
        " ",
        "{",
        "}",
        '{"inputs"',
        '{"inputs":',
        '{"inputs":[',
        GOOD[:-1],
        GOOD[:-3],
        "{'inputs':[]}",
        "{inputs:[]}",
        '{"inputs":[],}',
        '{"inputs":[1,]}',
        '{"inputs":[]}//x',
        '/**/{"inputs":[]}',
        '{"inputs":[NaN]}',
        '{"inputs":[Infinity]}',
        '{"inputs":[01]}',
        '{"inputs":[+1]}',
        '{"inputs":[.5]}',
        '{"inputs":[1.]}',
        '{"inputs":[0x10]}',
        '{"inputs":["\t"]}',
        '{"inputs":["\\x"]}',
        '{"inputs":["\\u12"]}',
        "\0" + GOOD,
        GOOD + "\0",
    ],
)
def test_text_that_is_no_json(text: str, served: Served) -> None:
    refused(served, text)


def test_an_empty_body(served: Served) -> None:
    answer = served.ask(wire.request("POST", "/v2/models/add/infer", headers=[("Content-Length", "0")]))
    assert answer.status == 400
    answer.error()
    answer = served.ask(wire.request("POST", "/v2/models/add/infer"))
    assert answer.status == 400
    answer.error()


@pytest.mark.parametrize("tail", ["x", "{}", "]", "}", ",", GOOD, "\0"])
def test_bytes_behind_the_document(tail: str, served: Served) -> None:
    refused(served, GOOD + tail)


def test_blanks_around_the_document(served: Served) -> None:
    assert ask(served, " \r\n\t" + GOOD + "\n \t\r").status == 200


def test_a_byte_order_mark(served: Served) -> None:
    answer = ask(served, b"\xef\xbb\xbf" + GOOD.encode())
    assert answer.status in (200, 400)
    for mark in (b"\xfe\xff", b"\xff\xfe"):
        refused(served, mark + GOOD.encode())


@pytest.mark.parametrize("text", [b"\xff", b"\xc3", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80"])
def test_text_that_is_no_utf_8(text: bytes, served: Served) -> None:
    refused(served, GOOD.replace('"A"', '"A?"').encode().replace(b"?", text))
    refused(served, GOOD.encode()[:-1] + b',"id":"' + text + b'"}')
    refused(served, GOOD.encode()[:-1] + b',"other":"' + text + b'"}')


# ---- Every field with every wrong kind


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"array"}))
@pytest.mark.parametrize("field", ["inputs", "outputs"])
def test_a_list_of_tensors_of_another_kind(field: str, kind: str, served: Served) -> None:
    text = f'{{"inputs":{KINDS[kind]}}}' if field == "inputs" else GOOD[:-1] + f',"outputs":{KINDS[kind]}}}'
    refused(served, text, field)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"object"}))
def test_an_item_of_another_kind(kind: str, served: Served) -> None:
    refused(served, f'{{"inputs":[{KINDS[kind]}]}}', "inputs[0]")
    refused(served, f'{{"inputs":[{A},{KINDS[kind]}]}}', "inputs[1]")
    refused(served, GOOD[:-1] + f',"outputs":[{KINDS[kind]}]}}', "outputs[0]")


FIELDS = {
    "name": ('"name":"A"', {"text"}),
    "shape": ('"shape":[1,4]', {"array"}),
    "datatype": ('"datatype":"FP32"', {"text"}),
    "data": ('"data":[1,2,3,4]', set()),
}


@pytest.mark.parametrize(
    ("field", "kind"), [(field, kind) for field in FIELDS for kind in KINDS if kind not in FIELDS[field][1]]
)
def test_a_field_of_an_input_of_another_kind(field: str, kind: str, served: Served) -> None:
    old, _ = FIELDS[field]
    refused(served, with_a(old, f'"{field}":{KINDS[kind]}'), field)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"object"}))
def test_parameters_of_another_kind(kind: str, served: Served) -> None:
    refused(served, GOOD[:-1] + f',"parameters":{KINDS[kind]}}}', "parameters")
    refused(served, with_a('"datatype"', f'"parameters":{KINDS[kind]},"datatype"'), "parameters")
    refused(served, GOOD[:-1] + f',"outputs":[{{"name":"Y","parameters":{KINDS[kind]}}}]}}', "parameters")


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"text"}))
def test_an_id_of_another_kind(kind: str, served: Served) -> None:
    refused(served, GOOD[:-1] + f',"id":{KINDS[kind]}}}', "id")


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"text"}))
def test_an_output_name_of_another_kind(kind: str, served: Served) -> None:
    refused(served, GOOD[:-1] + f',"outputs":[{{"name":{KINDS[kind]}}}]}}', "outputs[0]", "name")


@pytest.mark.parametrize("value", ["null", "[]", "{}", "[1]", '{"a":1}'])
def test_the_value_of_a_parameter_of_another_kind(value: str, served: Served) -> None:
    refused(served, GOOD[:-1] + f',"parameters":{{"mine":{value}}}}}', "mine")


KNOWN = {
    "timeout": ["true", '"5"', "null", "[]", "{}", "-1", "1.5", "1e400", "18446744073709551616"],
    "binary_data_output": ["1", "0", '"true"', "null", "[]", "{}"],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key in KNOWN for value in KNOWN[key]])
def test_a_known_request_parameter(key: str, value: str, served: Served) -> None:
    refused(served, GOOD[:-1] + f',"parameters":{{"{key}":{value}}}}}', key)


@pytest.mark.parametrize("value", ["true", '"16"', "null", "[]", "{}", "-16", "16.5", "1e30"])
def test_a_binary_data_size(value: str, served: Served) -> None:
    old = '"data":[1,2,3,4]'
    refused(served, with_a(old, f'"parameters":{{"binary_data_size":{value}}}'), "binary_data_size")


@pytest.mark.parametrize(
    ("key", "value"),
    [("binary_data", v) for v in ("1", '"true"', "null", "[]", "{}")]
    + [("classification", v) for v in ("true", '"1"', "null", "[]", "{}", "-1", "0", "1.5", "1e30")],
)
def test_a_known_output_parameter(key: str, value: str, served: Served) -> None:
    refused(served, GOOD[:-1] + f',"outputs":[{{"name":"Y","parameters":{{"{key}":{value}}}}}]}}', key)


@pytest.mark.parametrize("dim", ["null", "true", '"1"', "[1]", "{}", "1.5", "-1", "1e30", "9223372036854775808"])
def test_a_dimension(dim: str, served: Served) -> None:
    refused(served, with_a("[1,4]", f"[{dim},4]"), "shape[0]")
    refused(served, with_a("[1,4]", f"[1,{dim}]"), "shape[1]")


@pytest.mark.parametrize("item", ["null", "true", '"1"', "{}", '{"b64":"AA"}'])
def test_an_element(item: str, served: Served) -> None:
    refused(served, with_a("[1,2,3,4]", f"[1,{item},3,4]"), "data", "A")
    refused(served, with_a("[1,2,3,4]", f"[[1,2,3,{item}]]"), "data", "A")


@pytest.mark.parametrize("data", ['{"b64":"AA"}', "[{}]", '"1,2"', '"AAAAAAAA"', "null", "1"])
def test_data_in_another_form(data: str, served: Served) -> None:
    refused(served, with_a("[1,2,3,4]", data), "data")


@pytest.mark.parametrize("name", ["fp32", "float32", "FLOAT", "TYPE_FP32", "FP32 ", "", "FP8", "\\u0000", "STRING"])
def test_a_datatype_that_does_not_exist(name: str, served: Served) -> None:
    refused(served, with_a('"FP32"', f'"{name}"'), "datatype")


# ---- Keys


@pytest.mark.parametrize("field", ["name", "shape", "datatype", "data"])
def test_a_missing_field(field: str, served: Served) -> None:
    tensor = json.loads(A)
    del tensor[field]
    refused(served, json.dumps({"inputs": [tensor, json.loads(B)]}), field)


def test_missing_inputs(served: Served) -> None:
    refused(served, "{}", "inputs")
    refused(served, '{"outputs":[]}', "inputs")
    refused(served, '{"Inputs":[]}', "inputs")
    refused(served, '{"inputs":[]}', "A")


def test_a_missing_output_name(served: Served) -> None:
    refused(served, GOOD[:-1] + ',"outputs":[{}]}', "outputs[0]", "name")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{"inputs":[', '{"inputs":[],"inputs":['),
        ('{"inputs":[', '{"inp\\u0075ts":[],"inputs":['),
        ('"name":"A"', '"name":"A","name":"A"'),
        ('"shape":[1,4],"datatype":"FP32","data":[1,', '"shape":[1,4],"shape":[4],"datatype":"FP32","data":[1,'),
        ('"data":[1,2,3,4]', '"data":[1,2,3,4],"data":[5,6,7,8]'),
        ('{"inputs":[', '{"id":"a","id":"b","inputs":['),
        ('{"inputs":[', '{"parameters":{},"parameters":{},"inputs":['),
        ('{"inputs":[', '{"parameters":{"a":1,"a":2},"inputs":['),
        ('{"inputs":[', '{"parameters":{"timeout":1000000,"timeout":0},"inputs":['),
        ('{"inputs":[', '{"outputs":[{"name":"Y","name":"Y"}],"inputs":['),
        ('{"inputs":[', '{"mine":1,"mine":2,"inputs":['),
    ],
)
def test_a_key_that_repeats(old: str, new: str, served: Served) -> None:
    assert GOOD.count(old) == 1
    refused(served, GOOD.replace(old, new), "repeats")


def test_unknown_keys_are_left_alone(served: Served) -> None:
    extra = '"x":{"inputs":[{"name":7}],"inputs":null},"y":[[],{}],"z":null,'
    text = GOOD.replace('{"inputs"', "{" + extra + '"inputs"', 1).replace('{"name":"A"', "{" + extra + '"name":"A"')
    assert ask(served, text).outputs()["Y"].tolist() == [[11, 22, 33, 44]]


def test_keys_in_any_order(served: Served) -> None:
    a = '{"data":[[1,2,3,4]],"parameters":{},"datatype":"FP32","shape":[1,4],"name":"A"}'
    b = '{"data":[10,20,30,40],"shape":[1,4],"name":"B","datatype":"FP32"}'
    text = f'{{"outputs":[{{"parameters":{{}},"name":"Y"}}],"parameters":{{"q":1}},"inputs":[{b},{a}],"id":"7"}}'
    answer = ask(served, text)
    assert answer.outputs()["Y"].tolist() == [[11, 22, 33, 44]]
    assert answer.json()["id"] == "7"


def test_keys_and_names_with_escapes(served: Served) -> None:
    text = GOOD.replace('"inputs"', '"\\u0069nputs"').replace('"A"', '"\\u0041"').replace('"FP32"', '"\\u0046P32"')
    assert ask(served, text).outputs()["Y"].tolist() == [[11, 22, 33, 44]]


def test_a_name_that_an_error_repeats_is_escaped(served: Served) -> None:
    for name in ('\\"', "\\\\", "\\n", "\\u0000", "\\u2028", "é", "😀", "<script>", "x" * 5000):
        refused(served, with_a('"A"', f'"{name}"'))


def test_very_many_tensors_keys_and_dimensions(served: Served) -> None:
    """Each has its limit, and hitting it costs little."""
    refused(served, '{"inputs":[' + ",".join([A] * 5000) + "]}")
    refused(served, GOOD[:-1] + ',"outputs":[' + ",".join(['{"name":"Y"}'] * 100_000) + "]}")
    refused(served, GOOD[:-1] + ',"parameters":{' + ",".join(f'"k{i}":1' for i in range(5000)) + "}}", "parameters")
    refused(served, "{" + ",".join(f'"k{i}":1' for i in range(5000)) + "}")
    refused(served, with_a("[1,4]", "[" + ",".join(["1"] * 1000) + "]"), "shape")
    refused(served, with_a('"shape"', ",".join(f'"k{i}":1' for i in range(5000)) + ',"shape"'))
