"""The command `asio-infer`: serve models, and look into them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from asio_infer.errors import AsioInferError, InvalidRequest
from asio_infer.options import LOG_FORMATS, LOG_LEVELS

if TYPE_CHECKING:
    from asio_infer import _core
    from asio_infer.auth import Auth
    from asio_infer.config import Config, ModelConfig
    from asio_infer.model import ModelInfo, Tensor
    from asio_infer.options import Tls
    from asio_infer.server import Server

_DESCRIPTION: Final = "Serve ONNX models over HTTP (the Open Inference Protocol v2), and look into them."

_EXAMPLES: Final = """\
examples:
  asio-infer serve resnet50.onnx
      serve a model under the name of its file, at http://127.0.0.1:8000/v2/models/resnet50
  asio-infer serve classify=models/resnet50.onnx detect=models/yolo.onnx --port 9000
      serve two models under names of their own
  asio-infer inspect resnet50.onnx
      show what a model takes and gives, and whether its requests can share a run
  asio-infer key --name ci --file keys.toml
      make a key for a server that is started with --auth-file keys.toml
"""

_SERVE_EXAMPLES: Final = """\
examples:
  asio-infer serve resnet50.onnx
  asio-infer serve resnet=resnet50.onnx --port 9000 --instances 2
  asio-infer serve resnet50.onnx --providers CUDAExecutionProvider,CPUExecutionProvider
  asio-infer serve --config server.toml --log-format json --access-log
  asio-infer serve resnet50.onnx --host 0.0.0.0 --tls-certificate server.pem --tls-key server.key

a configuration file:
  [server]
  port = 8000
  [server.limits]
  max_body_bytes = 1_000_000
  [[model]]
  name = "resnet"
  path = "resnet50.onnx"
  batching = { max_size = 8, max_delay_s = 0.001 }

try it:
  curl http://127.0.0.1:8000/v2/models/resnet50
  curl http://127.0.0.1:8000/metrics

SIGTERM and Ctrl-C finish what was received and end with status 0; a second one ends at once.
"""

_INSPECT_EXAMPLES: Final = """\
examples:
  asio-infer inspect resnet50.onnx
  asio-infer inspect resnet50.onnx --json
"""


_KEY_EXAMPLES: Final = """\
examples:
  asio-infer key --name ci --file keys.toml
  asio-infer serve resnet50.onnx --auth-file keys.toml
  curl -H "Authorization: Bearer TOKEN" http://127.0.0.1:8000/v2
"""


class _UsageError(Exception):
    """A bad argument: one line on stderr, status 2."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _UsageError(f"{message} (see {self.prog} --help)")


def _number(low: int, high: int) -> Any:
    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{value} is not from {low} to {high}")
        return value

    return convert


def _make_parser() -> _Parser:
    from asio_infer import __version__

    raw = argparse.RawDescriptionHelpFormatter
    parser = _Parser(prog="asio-infer", description=_DESCRIPTION, epilog=_EXAMPLES, formatter_class=raw)
    parser.add_argument("--version", action="version", version=f"asio_infer {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    serve = commands.add_parser(
        "serve", help="serve models", description="Serve models.", epilog=_SERVE_EXAMPLES, formatter_class=raw
    )
    _add_serve_arguments(serve)
    inspect = commands.add_parser(
        "inspect",
        help="show what a model takes and gives",
        description="Show what a model takes and gives, and whether its requests can share a run.",
        epilog=_INSPECT_EXAMPLES,
        formatter_class=raw,
    )
    inspect.add_argument("model", metavar="MODEL.onnx", help="the model's file")
    inspect.add_argument("--json", action="store_true", help="print JSON")
    key = commands.add_parser(
        "key",
        help="make a key for a server that asks for one",
        description="Make a key. Its token is printed once, and is not kept: give it to the caller.",
        epilog=_KEY_EXAMPLES,
        formatter_class=raw,
    )
    key.add_argument("--name", default="", help="what the log calls the caller")
    key.add_argument("--scopes", default="read,infer", metavar="A,B", help="of read, infer, control (read,infer)")
    key.add_argument("--models", metavar="A,B", help='patterns of the models it may use, such as "resnet*" (all)')
    key.add_argument("--file", metavar="FILE", help="add it to this file of keys, which is made if it is missing")
    return parser


def _add_serve_arguments(serve: argparse.ArgumentParser) -> None:
    add = serve.add_argument
    add("models", nargs="*", metavar="[NAME=]MODEL.onnx", help="a model's file; NAME defaults to the file's stem")
    add("--config", metavar="FILE.toml", help="a configuration file; arguments here go before it")
    network = serve.add_argument_group("network")
    network.add_argument("--host", help="the address to listen on (127.0.0.1)")
    network.add_argument("--port", type=_number(0, 65_535), help="the port; 0 takes a free one (8000)")
    network.add_argument("--unix", metavar="PATH", help="a Unix-domain socket to listen on beside the port")
    network.add_argument("--tls-certificate", metavar="FILE", help="speak TLS with this certificate (PEM)")
    network.add_argument("--tls-key", metavar="FILE", help="its private key (PEM)")
    network.add_argument("--tls-client-ca", metavar="FILE", help="let in clients only whose certificate these signed")
    network.add_argument("--auth-file", metavar="FILE", help="ask for a key of this file (see asio-infer key --help)")
    network.add_argument("--public-liveness", action="store_true", help="tell without a key that the server lives")
    network.add_argument(
        "--allow-client-shared-memory",
        action="store_true",
        default=None,
        help="let clients on this machine pass tensors in shared memory",
    )
    network.add_argument("--io-threads", type=_number(1, 1024), metavar="N", help="network threads")
    network.add_argument("--max-body-bytes", type=_number(1, 2**40), metavar="N", help="largest request body")
    models = serve.add_argument_group("models (all of them)")
    models.add_argument(
        "--max-batch", type=_number(1, 65_536), metavar="N", help="most rows in one run; 1 runs each request alone (32)"
    )
    models.add_argument(
        "--batch-delay-us",
        type=_number(0, 60_000_000),
        metavar="N",
        help="microseconds that a request may wait for others while an instance is idle (0)",
    )
    models.add_argument("--instances", type=_number(1, 1024), metavar="N", help="copies of each model (1)")
    models.add_argument("--providers", metavar="A,B", help="ONNX Runtime execution providers, best first")
    models.add_argument(
        "--intra-op-threads", type=_number(1, 1024), metavar="N", help="threads that all models compute with"
    )
    log = serve.add_argument_group("log (on stderr)")
    log.add_argument("--log-level", choices=LOG_LEVELS, help="least severity (info)")
    log.add_argument("--log-format", choices=LOG_FORMATS[:2], help="lines of text or of JSON (text)")
    log.add_argument("--access-log", action="store_true", default=None, help="a line for each request")


# ---- serve


def _model_argument(argument: str) -> ModelConfig:
    from asio_infer.config import ModelConfig

    name, equals, path = argument.partition("=")
    if not equals:
        name, path = Path(argument).stem, argument
    if not name or not path:
        raise _UsageError(f"argument {argument!r} is not [NAME=]MODEL.onnx")
    return ModelConfig(name=name, source=Path(path))


def _server_arguments(arguments: argparse.Namespace, config: Config) -> dict[str, Any]:
    """What the command line says goes before what the file says."""
    from asio_infer.options import Limits, Log

    server = dict(config.server)
    for name in ("host", "port", "unix", "io_threads", "intra_op_threads", "allow_client_shared_memory"):
        if (value := getattr(arguments, name)) is not None:
            server[name] = value
    if arguments.max_body_bytes is not None:
        server["limits"] = replace(server.get("limits", Limits()), max_body_bytes=arguments.max_body_bytes)
    if (tls := _tls_argument(arguments)) is not None:
        server["tls"] = tls
    if (auth := _auth_argument(arguments)) is not None:
        server["auth"] = auth
    log = server.get("log", Log())
    log = Log(format=log) if isinstance(log, str) else log  # type: ignore[arg-type]  # checked by Log
    given = {"level": arguments.log_level, "format": arguments.log_format, "access": arguments.access_log}
    server["log"] = replace(log, **{name: value for name, value in given.items() if value is not None})
    return server


def _tls_argument(arguments: argparse.Namespace) -> Tls | None:
    from asio_infer.options import Tls

    files = (arguments.tls_certificate, arguments.tls_key, arguments.tls_client_ca)
    if files == (None, None, None):
        return None
    if arguments.tls_certificate is None or arguments.tls_key is None:
        raise _UsageError("TLS needs both --tls-certificate and --tls-key")
    return Tls(*files)


def _auth_argument(arguments: argparse.Namespace) -> Auth | None:
    from asio_infer.auth import Auth

    if arguments.auth_file is None:
        return None
    return Auth(file=arguments.auth_file, public_liveness=arguments.public_liveness)


def _check_twice(models: Sequence[ModelConfig]) -> None:
    seen: set[tuple[str, Any]] = set()
    for model in models:
        key = (model.name, model.options.get("version", 1))
        if key in seen:
            raise _UsageError(f"model {model.name!r} version {key[1]} is given twice")
        seen.add(key)


def _model_options(model: ModelConfig, arguments: argparse.Namespace) -> _core.ModelOptions:
    """Arguments for all models go before what the file says about one."""
    from asio_infer import _core
    from asio_infer._model_options import make_model_options

    given = dict(model.options)
    if arguments.instances is not None:
        given["instances"] = arguments.instances
    if arguments.providers is not None:
        given["providers"] = [name.strip() for name in arguments.providers.split(",") if name.strip()]
        given.pop("provider_options", None)
    options = make_model_options(model.name, model.source, **given)
    if arguments.max_batch is not None:
        options.batching.max_rows = arguments.max_batch
        if arguments.max_batch == 1:
            options.batching.choice = _core.BatchingMode.off
    if arguments.batch_delay_us is not None:
        options.batching.max_delay_s = arguments.batch_delay_us / 1e6
    return options


def _prepare(arguments: argparse.Namespace) -> tuple[Server, list[_core.ModelOptions]]:
    """All that can be wrong about arguments is found here, before anything is loaded."""
    from asio_infer.config import Config, load_config
    from asio_infer.server import Server

    try:
        config = load_config(arguments.config) if arguments.config else Config()
        models = [*config.models, *map(_model_argument, arguments.models)]
        if not models:
            raise _UsageError("nothing to serve: name a model's file (see asio-infer serve --help)")
        _check_twice(models)
        options = [_model_options(model, arguments) for model in models]
        return Server(**_server_arguments(arguments, config)), options
    except (InvalidRequest, TypeError) as error:
        raise _UsageError(str(error)) from None


def _serve(arguments: argparse.Namespace) -> int:
    from asio_infer import _signals

    server, models = _prepare(arguments)
    for options in models:
        server._register(options)
    with _signals.SignalEvents() as events:
        try:
            server.start()
        except InvalidRequest as error:
            raise _UsageError(str(error)) from None
        print(f"asio_infer listening on {server.url}", flush=True)
        server._wait(events)
    return 0


# ---- inspect


def _inspect(arguments: argparse.Namespace) -> int:
    from asio_infer._model_options import make_model_options
    from asio_infer.options import Log
    from asio_infer.server import Server

    server = Server(log=Log(level="error"))
    info = server._inspect(make_model_options(Path(arguments.model).stem, arguments.model))
    if arguments.json:
        import json

        print(json.dumps(info.to_dict(), indent=2, ensure_ascii=False))
    else:
        _print_model(arguments.model, info)
    return 0


def _print_model(path: str, info: ModelInfo) -> None:
    print(f"{path}: {info.platform}")
    for title, tensors in (("inputs", info.inputs), ("outputs", info.outputs)):
        print(f"{title}:")
        width = max((len(tensor.name) for tensor in tensors), default=0)
        for tensor in tensors:
            print(f"  {tensor.name:<{width}}  {_describe(tensor)}")
    print(f"batchable: {'yes' if info.max_batch_size else 'no'} ({info.batching_reason})")


def _describe(tensor: Tensor) -> str:
    if tensor.unsupported:
        return f"cannot travel by the protocol: {tensor.unsupported}"
    symbols = tensor.symbols or ("",) * len(tensor.shape)
    sizes = ", ".join(symbol or str(size) for symbol, size in zip(symbols, tensor.shape, strict=True))
    return f"{tensor.datatype:<6}  [{sizes}]{'  (optional)' if tensor.optional else ''}"


# ---- key


def _key(arguments: argparse.Namespace) -> int:
    from asio_infer.auth import Key, append_key, new_token, to_toml

    def listed(text: str) -> list[str]:
        return [entry.strip() for entry in text.split(",") if entry.strip()]

    token = new_token()
    models = None if arguments.models is None else listed(arguments.models)
    try:
        key = Key(arguments.name, token, scopes=listed(arguments.scopes), models=models)
        if arguments.file is not None:
            append_key(arguments.file, key)
    except InvalidRequest as error:
        raise _UsageError(str(error)) from None
    print(token)
    if arguments.file is None:
        print(f"\n# for the server's file of keys:\n{to_toml(key)}", end="")
    return 0


# ---- main


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns:
        0 after SIGTERM or Ctrl-C, 2 for a bad argument or nothing to serve, 1 for a model that does not load or a
        port in use; 1 and 2 come with one line on stderr.
    """
    try:
        arguments = _make_parser().parse_args(argv)
        if arguments.command is None:
            raise _UsageError("a command is missing: serve, inspect or key (see asio-infer --help)")
        return {"serve": _serve, "inspect": _inspect, "key": _key}[arguments.command](arguments)
    except _UsageError as error:
        return _fail(2, error)
    except (AsioInferError, ImportError, OSError, TypeError) as error:
        return _fail(1, error)
    except KeyboardInterrupt:
        return 0


def _fail(status: int, error: BaseException) -> int:
    text = " ".join(str(error).split())
    print(f"asio-infer: error: {text}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
