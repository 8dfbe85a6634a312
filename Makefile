# analytics_fdw: the top makefile. `make help` lists the targets.
#
# Two worlds are built here. The engine (src/engine) is plain C11 without the server's include
# path; the extension (src/pg) is built by PGXS through pgxs.mk. A second makefile is needed
# because PGXS defines a `check` target of its own that refuses to run.
#
# One object tree per variant, build/<variant>/, so that compilers and sanitizers coexist:
#   make unit                      build/gcc
#   make unit CC=clang             build/clang
#   make unit SAN=thread           build/gcc-thread
#   make unit DEBUG=1              build/gcc-debug
#   make locks DATA=FILE           build/gcc-lockstat (LOCKSTAT=1)

.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:

ifeq ($(origin CC),default)
CC := gcc
endif
AR ?= ar
PYTHON ?= python3
CLANG ?= clang
PG_CONFIG ?= pg_config
SAN ?=
DEBUG ?=
LOCKSTAT ?=
SECONDS ?= 60
AX_CORPUS ?= ../shared/corpus
export AX_CORPUS PG_CONFIG PYTHON

comma := ,
empty :=
space := $(empty) $(empty)
ROOT := $(CURDIR)
VARIANT ?= $(notdir $(firstword $(CC)))$(if $(SAN),-$(subst $(comma),-,$(SAN)))$(if $(DEBUG),-debug)$(if $(LOCKSTAT),-lockstat)
B := build/$(VARIANT)

# ---- sources: sorted wildcards, so adding a file never touches this makefile ----------------

NOT_ENGINE := %_test.c %_fuzz.c %_bench.c
ALL_C := $(sort $(wildcard src/engine/*.c src/engine/*/*.c src/engine/format/*/*.c))
ENGINE_SRC := $(filter-out $(NOT_ENGINE),$(ALL_C))
TEST_SRC := $(filter %_test.c,$(ALL_C))
BENCH_SRC := $(filter %_bench.c,$(ALL_C)) $(sort $(wildcard bench/micro/*.c))
AXQ_SRC := $(sort $(wildcard tools/axq.c tools/axq/*.c))
FUZZ_SRC := $(sort $(wildcard test/fuzz/*_fuzz.c))
PG_SRC := $(sort $(wildcard src/pg/*.c))

ENGINE_OBJ := $(ENGINE_SRC:%.c=$(B)/%.o)
TEST_BIN := $(TEST_SRC:src/engine/%.c=$(B)/unit/%)
BENCH_BIN := $(BENCH_SRC:%.c=$(B)/bench/%)
FUZZ_NAMES := $(patsubst test/fuzz/%_fuzz.c,%,$(FUZZ_SRC))

# ---- flags ----------------------------------------------------------------------------------

# Codec libraries the engine links with; the module uses the same list.  Tests and benchmarks compare
# our snappy decoder with the library.
TEST_LIBS = -lsnappy $(ENGINE_LIBS)
ENGINE_LIBS ?= -lzstd -llz4 -lbrotlidec -lz -lm -lpthread

OPT := -O2
KERNEL_OPT := -O3 -fno-math-errno -fno-trapping-math
ifneq ($(DEBUG),)
OPT := -O0
KERNEL_OPT := -O0
DEFS += -DAX_DEBUG
endif
ifneq ($(SAN),)
OPT := -O1
KERNEL_OPT := -O1
DEFS += -DAX_DEBUG -DAX_TEST_DIVISOR=8
SANFLAGS := -fsanitize=$(SAN) -fno-omit-frame-pointer
ifneq ($(findstring undefined,$(SAN)),)
SANFLAGS += -fno-sanitize-recover=all
endif
# gcc's flow warnings are wrong too often on instrumented code; the plain build has them all.
WARN_SAN := -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds
ifneq ($(findstring clang,$(CC)),)
WARN_SAN :=
endif
endif

ifneq ($(LOCKSTAT),)
DEFS += -DAX_LOCKSTAT -include src/engine/base/lockstat.h
endif

# CFLAGS and CPPFLAGS of the caller come last and win.
ENGINE_CFLAGS = -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wshadow -Werror $(WARN_SAN) -g -fPIC \
	-fvisibility=hidden $(SANFLAGS) $(DEFS)
ENGINE_CPPFLAGS = -Isrc/engine $(SYSROOT_CPPFLAGS)
LINKFLAGS = $(SANFLAGS) $(SYSROOT_LDFLAGS)

# Folders of tight loops; instruction sets are chosen inside the files, by pragma or attribute.
KERNEL_DIRS := src/engine/func src/engine/exec src/engine/format src/engine/codec
is_kernel = $(strip $(foreach d,$(KERNEL_DIRS),$(filter $(d)/%,$(1))) \
	$(findstring _kernels_,$(notdir $(1))) $(filter k_%,$(notdir $(1))))
opt_for = $(if $(call is_kernel,$(1)),$(KERNEL_OPT),$(OPT))

# ---- what to build --------------------------------------------------------------------------

HAVE_PGXS := $(if $(shell command -v $(PG_CONFIG) 2>/dev/null),$(wildcard $(shell $(PG_CONFIG) --pgxs)))
PG_MAJOR := $(if $(HAVE_PGXS),$(shell $(PG_CONFIG) --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/'))
PGB := build/pg$(PG_MAJOR)

.PHONY: all engine axq extension install help
all: engine $(if $(AXQ_SRC),axq) $(if $(HAVE_PGXS),$(if $(PG_SRC),extension))

engine: build/libax.a
axq: build/axq

build/libax.a: $(B)/libax.a
	@ln -sfn $(VARIANT)/libax.a $@
build/axq: $(B)/axq
	@ln -sfn $(VARIANT)/axq $@

# The list of members is a prerequisite of its own: a deleted source must leave the archive.
.PHONY: FORCE
$(B)/members: FORCE
	@mkdir -p $(@D)
	@echo '$(ENGINE_OBJ)' | cmp -s - $@ || echo '$(ENGINE_OBJ)' > $@

$(B)/libax.a: $(ENGINE_OBJ) $(B)/members
	@rm -f $@
	$(AR) rcs $@ $(ENGINE_OBJ)

$(B)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ENGINE_CFLAGS) $(call opt_for,$<) $(CFLAGS) $(ENGINE_CPPFLAGS) $(CPPFLAGS) -MMD -MP -c -o $@ $<

$(B)/axq: $(AXQ_SRC:%.c=$(B)/%.o) $(B)/libax.a
	$(CC) $(LINKFLAGS) $(LDFLAGS) -o $@ $^ $(ENGINE_LIBS)

$(B)/unit/%: $(B)/src/engine/%.o $(B)/libax.a
	@mkdir -p $(@D)
	$(CC) $(LINKFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(TEST_LIBS)

$(B)/bench/%: $(B)/%.o $(B)/libax.a
	@mkdir -p $(@D)
	$(CC) $(LINKFLAGS) $(LDFLAGS) -o $@ $^ $(TEST_LIBS)

-include $(shell find $(B) -name '*.d' 2>/dev/null)

# The module always links the plain gcc/clang archive, never an instrumented one, unless asked.
PGXS_MAKE = mkdir -p $(PGB)/src/pg && $(MAKE) --no-print-directory -C $(PGB) -f $(ROOT)/pgxs.mk \
	PG_CONFIG=$(PG_CONFIG) ENGINE_LIB=$(ROOT)/$(B)/libax.a ENGINE_LIBS="$(ENGINE_LIBS)" \
	SANFLAGS="$(SANFLAGS)"

ifneq ($(PG_SRC),)
# Of the archive itself: build/libax.a, which `make lint` looks at, is never an instrumented one.
extension: $(B)/libax.a
	+@{ $(PGXS_MAKE) -q all; } 2>/dev/null || { $(PGXS_MAKE) all; }
install: extension
	+@$(PGXS_MAKE) install DESTDIR=$(DESTDIR)
else
extension install:
	@echo 'no src/pg/*.c: no extension to build'
endif

# ---- tests that need no server ----------------------------------------------------------------

.PHONY: unit unit-clang quick lint lint-report tsan asan aarch64 fuzz fuzz-replay unit-programs
unit-programs: $(TEST_BIN)
unit: unit-programs
	@tools/test/run-unit.sh unit$(if $(filter gcc,$(VARIANT)),,-$(VARIANT)) "$(RUNNER)" $(TEST_BIN)

unit-clang:
	@$(MAKE) --no-print-directory unit CC=$(CLANG)

quick:
	+@tools/test/check.sh lint unit

lint: engine
	@$(PYTHON) tools/lint/test_lint.py
	@$(PYTHON) tools/lint/lint.py --archive build/libax.a
lint-report:
	@$(PYTHON) tools/lint/lint.py --report

# Address-space randomisation with many bits confuses older ThreadSanitizer run-times.
NOASLR := $(shell setarch -R true 2>/dev/null && echo setarch -R)
tsan:
	@$(MAKE) --no-print-directory unit SAN=thread RUNNER="$(NOASLR)"
asan:
	@$(MAKE) --no-print-directory unit SAN=address,undefined

AARCH64_ROOT := build/aarch64-sysroot
aarch64:
	@tools/aarch64-sysroot.sh $(AARCH64_ROOT)
	@$(MAKE) --no-print-directory unit CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar VARIANT=aarch64 \
	  DEFS=-DAX_TEST_DIVISOR=8 \
	  SYSROOT_CPPFLAGS="-isystem $(ROOT)/$(AARCH64_ROOT)/usr/include" \
	  SYSROOT_LDFLAGS="-L$(ROOT)/$(AARCH64_ROOT)/usr/lib/aarch64-linux-gnu \
	    -Wl,-rpath-link,$(ROOT)/$(AARCH64_ROOT)/usr/lib/aarch64-linux-gnu" \
	  RUNNER="tools/aarch64-run.sh $(ROOT)/$(AARCH64_ROOT)"

# One fuzz target a reader. `make fuzz T=parquet_footer SECONDS=600` hunts; `make fuzz-replay`
# runs every kept input through the same code, each ending at an unmapped page.
fuzz:
	@test -n "$(T)" || { echo "usage: make fuzz T=<name> [SECONDS=60]; names: $(FUZZ_NAMES)"; exit 2; }
	@$(MAKE) --no-print-directory build/fuzz/$(T) CC=$(CLANG) SAN=address,undefined VARIANT=fuzz \
	  SANFLAGS="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all"
	@mkdir -p build/fuzz/new/$(T) test/fuzz/corpus/$(T)
	build/fuzz/$(T) -max_total_time=$(SECONDS) -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
	  -artifact_prefix=build/fuzz/ build/fuzz/new/$(T) test/fuzz/corpus/$(T)

build/fuzz/%: build/fuzz/test/fuzz/%_fuzz.o build/fuzz/libax.a
	$(CC) -fsanitize=fuzzer,address,undefined -o $@ $^ $(TEST_LIBS)

REPLAY_SAN ?= address,undefined
.PHONY: replay-programs
replay-programs: $(FUZZ_NAMES:%=$(B)/replay/%)
$(B)/replay/%: $(B)/test/fuzz/%_fuzz.o $(B)/test/fuzz/replay_main.o $(B)/libax.a
	@mkdir -p $(@D)
	$(CC) $(LINKFLAGS) $(LDFLAGS) -o $@ $^ $(TEST_LIBS)
REPLAY_DIR = build/$(notdir $(firstword $(CC)))-$(subst $(comma),-,$(REPLAY_SAN))/replay
fuzz-replay:
	@$(if $(FUZZ_NAMES),$(MAKE) --no-print-directory replay-programs SAN=$(REPLAY_SAN),true)
	@tools/test/run-replay.sh $(REPLAY_DIR) $(FUZZ_NAMES)

# Every file of a larger corpus is read or refused as it should be, and holds what the corpus says;
# without AX_CORPUS nothing is.
.PHONY: corpus
corpus: axq
	@status=0; test/corpus/parquet.sh || status=1; \
	  $(PYTHON) test/corpus/parquet_content.py || status=1; \
	  test/corpus/mergetree.sh || status=1; \
	  test/corpus/mergetree_states.sh || status=1; \
	  PYTHON=$(PYTHON) test/corpus/clickhouse.sh || status=1; exit $$status

# Lines of the readers that the kept fuzz inputs run through.
.PHONY: coverage
coverage:
	@$(MAKE) --no-print-directory replay-programs VARIANT=coverage SAN= SANFLAGS="--coverage -O0"
	@status=0; for reader in parquet mergetree; do \
	  tools/test/coverage.sh build/coverage src/engine/format/$$reader 85 || status=1; done; \
	  exit $$status

# ---- tests against a private server -----------------------------------------------------------

# The private server is a relocated copy of the installed one in a temporary directory; the
# extension is installed into that copy, so no system directory is ever touched.
.PHONY: installcheck pgtap prove docs diff drivers testdata check bench locks demo
PRIVATE = tools/pg/private-server.sh

testdata: build/testdata/.done
build/testdata/.done: $(wildcard tools/gen/*.py)
	@$(PYTHON) tools/gen/testdata.py build/testdata
	@touch $@

installcheck: extension testdata
	+@$(PRIVATE) exec -- tools/test/run-regress.sh $(TESTS)
pgtap: extension testdata
	+@$(PRIVATE) exec -- tools/test/run-pgtap.sh $(TESTS)
prove: extension testdata
	+@$(PRIVATE) tree -- tools/test/run-prove.sh $(TESTS)
diff: extension testdata
	+@$(PRIVATE) exec --libc=de_DE --libc=tr_TR -- tools/test/run-diff.sh $(TESTS)
build/demo/lake/.done: $(wildcard tools/gen/*.py)
	@rm -rf build/demo/lake && mkdir -p build/demo
	@$(PYTHON) tools/gen/lake.py build/demo/lake >/dev/null
	@touch $@
docs: extension build/demo/lake/.done
	+@$(PRIVATE) exec -- tools/test/run-docs.sh $(TESTS)
drivers: extension testdata
	+@$(PRIVATE) exec --tcp -- tools/test/run-drivers.sh $(TESTS)

# Not a part of check: it builds PostgreSQL.
.PHONY: pgsan
pgsan:
	@tools/pgsan $(if $(SOURCE),--source $(SOURCE)) $(TESTS)

# Everything README.md promises, quick tests first; ends with "N passed, N failed".
check:
	@tools/setup.sh check
	+@tools/test/check.sh lint unit unit-clang installcheck pgtap docs prove drivers fuzz-replay corpus \
	  asan diff tsan

bench: $(BENCH_BIN)
	@for b in $(filter-out %/lock_bench,$(BENCH_BIN)); do echo "== $$b"; $$b || exit 1; done

# DATA: a Parquet file of the ClickBench table, as bench/clickbench/run makes it.  lock_bench, which `bench`
# builds but does not run.
locks:
	@$(MAKE) --no-print-directory LOCKSTAT=1 bench-locks
.PHONY: bench-locks
bench-locks: $(B)/bench/bench/micro/lock_bench
	@$< $(DATA)

demo:
	@demo/run.sh

# ---- house-keeping ----------------------------------------------------------------------------

.PHONY: format clean
format:
	@files=`git ls-files 'src/engine/*.[ch]' 'tools/*.[ch]' 'test/fuzz/*.[ch]' 'bench/micro/*.[ch]'`; \
	 if [ -n "$$files" ]; then clang-format -i $$files; fi

clean:
	rm -rf build results regression.diffs regression.out tmp_check

help:
	@echo 'build    all engine axq extension install   (CC=, SAN=, DEBUG=1, PG_CONFIG=)'
	@echo 'no server   quick lint unit unit-clang asan tsan aarch64 corpus fuzz-replay coverage'
	@echo '            fuzz (T=, SECONDS=)'
	@echo 'server   installcheck pgtap docs prove diff drivers   (TESTS="a b" runs only those)'
	@echo '         pgsan (SOURCE=)   PostgreSQL with sanitizers'
	@echo 'other    check demo bench locks (DATA=) testdata format lint-report clean'
