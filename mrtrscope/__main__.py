"""The command line. "wrap" and "relay" are sent on before anything is loaded that carrying traffic does not need."""

import _signal  # type: ignore[import-not-found]
import sys


def main() -> None:
    """Run the command that the first argument names."""
    args = sys.argv[1:]
    if args[:1] == ["wrap"]:
        from mrtrscope import wrap

        wrap.leave(wrap.main(args[1:]))
    if args[:1] == ["relay"]:
        from mrtrscope import relay

        relay.leave(relay.main(args[1:]))
    stops = _signal.getsignal(_signal.SIGINT)
    if stops is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # Ctrl-C while modules are loaded is no traceback
    import gc

    gc.disable()  # nothing that is just being loaded is garbage, and looking for it takes a tenth of the start
    from mrtrscope.cli import main as command_line

    gc.enable()
    _signal.signal(_signal.SIGINT, stops)
    command_line()


if __name__ == "__main__":
    main()
