"""Stand-ins for the heavy libraries that SGLang imports and a CPU test never uses.

SGLang's HTTP layer pulls in torch, triton, transformers and their kind at import
time. install() lets any module of those families be imported: whatever is asked of
one exists, can be called, subclassed, decorated with and subscripted, and does
nothing. Packages that are really installed are never replaced.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from abc import ABCMeta
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

FAMILIES = frozenset(
    """
    PIL IPython blobfile compressed_tensors datasets deepseek_recipe einops filelock gguf
    huggingface_hub interegular llguidance mistral_common modelscope openai_harmony outlines
    safetensors scipy sentencepiece sgl_kernel soundfile tiktoken timm tml_renderers tokenizers
    torch torchao torchaudio torchcodec torchvision transformers triton tvm_ffi xgrammar
    """.split()
)


# What a torch without any accelerator lacks, and values that must be of a plain type.
ABSENT = frozenset(
    {
        "torch.npu",
        "torch.hpu",
        "torch.musa",
        "triton.runtime.driver",
        "transformers.utils.chat_template_utils._compile_jinja_template",
    }
)
VALUES: dict[str, Any] = {
    "torch.version.hip": None,
    "torch.version.cuda": None,
    "torch.version.musa": None,
    "torch.library.Library.m.name": "sglang",
}

# Names with underscores around them are Python's protocols, which must be absent;
# these few are asked for like any other.
ORDINARY = frozenset({"__func__", "__class_validators__"})


def made(full: str) -> Any:
    """made returns what stands in for the dotted name, or raises AttributeError where nothing must."""
    name = full.rpartition(".")[2]
    if full in ABSENT or (name.startswith("__") and name.endswith("__") and name not in ORDINARY):
        raise AttributeError(name)
    return VALUES[full] if full in VALUES else standin(full)


class Anything(ABCMeta):
    """Anything is the metaclass of stand-in classes, which are also their own instances."""

    def __getattr__(cls, name: str) -> Any:
        return made(f"{cls.__name__}.{name}")

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if "__standin__" not in cls.__dict__:
            return super().__call__(*args, **kwargs)
        if len(args) == 1 and not kwargs and callable(args[0]):
            return args[0]  # used as a decorator
        return cls

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls.__name__ == "torch.dtype":
            return type(instance) is Anything
        return super().__instancecheck__(instance)

    def register(cls, *args: Any, **kwargs: Any) -> Any:
        """register takes what a library's registry takes, and on real classes what ABC does."""
        return cls if "__standin__" in cls.__dict__ else super().register(*args, **kwargs)

    def __getitem__(cls, _: Any) -> Any:
        return cls

    def __setitem__(cls, key: Any, value: Any) -> None:
        return None

    def __iter__(cls) -> Iterator[Any]:
        return iter(())

    def __enter__(cls) -> Any:
        return cls

    def __exit__(cls, *_: Any) -> None:
        return None

    def __contains__(cls, _: Any) -> bool:
        return False

    def __len__(cls) -> int:
        return 0

    def __int__(cls) -> int:
        return 0

    def __index__(cls) -> int:
        return 0

    def __float__(cls) -> float:
        return 0.0

    def __bool__(cls) -> bool:
        return False

    def __lt__(cls, _: Any) -> bool:
        return False

    __le__ = __gt__ = __ge__ = __lt__

    def __add__(cls, *_: Any) -> Any:
        return cls

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __add__
    __floordiv__ = __mod__ = __pow__ = __neg__ = __and__ = __rand__ = __lshift__ = __add__


def standin(name: str) -> Any:
    """standin returns a class of that name that accepts everything."""
    body = {
        "__standin__": True,
        "__init_subclass__": classmethod(lambda cls, **_: None),
        "__init__": lambda self, *a, **k: None,
        "__call__": lambda self, *args, **_: args[0] if len(args) == 1 and callable(args[0]) else self,
        "__getattr__": lambda self, name: made(f"{type(self).__name__}.{name}"),
        "__get_pydantic_core_schema__": classmethod(lambda cls, *_: {"type": "any"}),
    }
    return Anything(name, (), body)


class Module(ModuleType):
    """Module is a package in which every name exists."""

    __version__ = "99.0.0"

    def __getattr__(self, name: str) -> Any:
        full = f"{self.__name__}.{name}"
        value = sys.modules.get(full) or made(full)
        setattr(self, name, value)
        return value


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder makes a Module for each name of a family that nothing else provides."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:
        if name.partition(".")[0] in FAMILIES:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> ModuleType:
        return Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__path__ = []


def install() -> None:
    """install puts the stand-ins behind all real packages."""
    sys.meta_path.append(Finder())
