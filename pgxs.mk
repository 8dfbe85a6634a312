# The extension, built by PGXS. Called by the top makefile from build/pg<major>/ (a VPATH build),
# with ENGINE_LIB (the archive) and ENGINE_LIBS (what it links with). Not meant to be run by hand.

ROOT := $(patsubst %/,%,$(dir $(abspath $(firstword $(MAKEFILE_LIST)))))

MODULE_big = analytics_fdw
EXTENSION = analytics_fdw
DATA = $(patsubst $(ROOT)/%,%,$(sort $(wildcard $(ROOT)/src/pg/sql/*.sql)))
OBJS = $(patsubst $(ROOT)/%.c,%.o,$(sort $(wildcard $(ROOT)/src/pg/*.c)))
PG_CPPFLAGS = -I$(ROOT)/src/pg -I$(ROOT)/src/engine -MMD -MP $(SANFLAGS)
SHLIB_LINK = $(ENGINE_LIB) $(ENGINE_LIBS) $(SANFLAGS)

# Bitcode of the glue buys nothing: its hot loops are in the engine.
override with_llvm := no

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

EXPORTS := $(ROOT)/src/pg/exports.map
ifeq ($(PORTNAME), linux)
SHLIB_LINK += -Wl,--version-script=$(EXPORTS)
endif

$(OBJS): $(ROOT)/pgxs.mk
analytics_fdw.so: $(ENGINE_LIB) $(EXPORTS)
-include $(OBJS:.o=.d)
