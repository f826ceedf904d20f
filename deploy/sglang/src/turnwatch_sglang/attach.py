"""How the middleware gets onto SGLang's app in the main process.

Plugins are loaded before the server's arguments are read, and importing SGLang's HTTP
server that early could fix settings the arguments should decide. So we wait for SGLang
to import it and act right after.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from turnwatch_sglang.middleware import Desk, Middleware, note_request
from turnwatch_sglang.once import notes

SERVER = "sglang.srt.entrypoints.http_server"
REQUESTS = "sglang.srt.managers.tokenizer_manager.TokenizerManager.generate_request"


def prepare() -> None:
    """Prepare makes the socket that schedulers will inherit and arranges for attach to run."""
    import sglang

    version = getattr(sglang, "__version__", "unknown")
    desk = Desk(lambda: None, version)

    def then(server: ModuleType) -> None:
        attach(desk, server)

    after_import(SERVER, then)


def attach(desk: Desk, server: ModuleType) -> None:
    """Attach adds the middleware to the app and the note to the tokenizer manager."""
    desk.manager = lambda: getattr(server.get_global_state(), "tokenizer_manager", None)
    server.app.add_middleware(Middleware, desk=desk)
    desk.inbox.open()
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    HookRegistry.register(REQUESTS, note_request, HookType.BEFORE)
    HookRegistry.apply_hooks()
    try:
        from sglang.srt.managers.tokenizer_manager import TokenizerManager

        desk.hooked = hasattr(TokenizerManager.generate_request, "__wrapped__")
    except (ImportError, AttributeError):
        desk.hooked = False
    if not desk.hooked:
        notes.say("no headers: this SGLang takes requests in a place unknown to us")


def after_import(name: str, then: Callable[[ModuleType], None]) -> None:
    """After_import calls then with the module as soon as somebody has imported it."""
    if name in sys.modules:
        then(sys.modules[name])
    else:
        sys.meta_path.insert(0, Watcher(name, then))


class Watcher(MetaPathFinder, Loader):
    """Watcher stands in the import of one module, once, and leaves the module as it would be without."""

    def __init__(self, name: str, then: Callable[[ModuleType], None]) -> None:
        self.name = name
        self.then = then
        self.inner: Loader | None = None

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Find_spec lets the usual finders answer and puts itself between loader and module."""
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            self.inner, spec.loader = spec.loader, self
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create_module is the inner loader's."""
        assert self.inner is not None
        return self.inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Exec_module runs the module and then what waited for it."""
        assert self.inner is not None
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self.inner
        self.inner.exec_module(module)
        try:
            self.then(module)
        except Exception as err:
            notes.say(f"no headers and no facts route: {err!r}")
