#!/bin/sh
# What `make demo` shows; `mdplan` is on the PATH.
set -eu
mdplan --version
