"""What plan code may say: checked and compiled without running it. Used by the host's check and inside the worker."""

from sandbox.policy.compiler import CompiledCell, PolicyRefused, check, compile_cell, compile_plain, too_large
from sandbox.policy.rules import Problem

__all__ = ["CompiledCell", "PolicyRefused", "Problem", "check", "compile_cell", "compile_plain", "too_large"]
