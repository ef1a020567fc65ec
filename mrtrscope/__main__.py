"""The command line. "wrap" and "relay" are sent on before anything is loaded that carrying traffic does not need."""

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
    import gc
    import signal

    stops = signal.getsignal(signal.SIGINT)
    if stops is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C while modules are loaded is no traceback
    gc.disable()  # nothing that is just being loaded is garbage, and looking for it takes a tenth of the start
    from mrtrscope.cli import main as command_line

    gc.enable()
    signal.signal(signal.SIGINT, stops)
    command_line()


if __name__ == "__main__":
    main()
