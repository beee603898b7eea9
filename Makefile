# The whole build: Go does the rest. Each folder here is a module of its own.
EXAMPLES := $(wildcard examples/*)
MODULES := cluster . $(EXAMPLES) bench

BINARY = OPERON_CLUSTER_BINARY=$(CURDIR)/bin/operon-cluster
# lint has looked at all of it already, and linking takes half the time where debuggers are left out.
GO_TEST = $(BINARY) go test -vet=off -ldflags=-w -p 3 -parallel 8 -timeout 20m
# What data races are not looked for in: commands and generators have no goroutine of their own
# and take five times as long then, the gallery is mostly skipped.
TOOLS := ./cmd/... ./internal/tools/generate/... ./internal/tools/rbac/... ./internal/tools/scaffold/... ./internal/tools/doctor/...
UNRACED := ./prove ./prove/testdata/gallery/operators $(TOOLS)
# Compressing is not ours, and takes ten times as long where it is watched for data races, too.
UNWATCHED := '-gcflags=github.com/klauspost/compress/...=-race=false -d=checkptr=0'
RACED = $(shell go list ./... | grep -vxF "$$(go list $(TOOLS))")

.PHONY: run test lint clean binaries waiting root docs $(EXAMPLES)

run: ## run the example operator on a cluster of its own
	go run ./cmd/operon up examples/memcached

test: lint binaries ## pass all tests; RACE=-race looks for data races in the root module
	cd cluster && $(GO_TEST) ./...
	$(if $(RACE),$(GO_TEST) $(RACE) $(UNWATCHED) $(RACED))
	@$(MAKE) --no-print-directory -j 2 waiting
	cd bench && $(GO_TEST) ./...

# Two at once, as they wait most of the time.
waiting: root $(EXAMPLES)

root:
	$(GO_TEST) $(if $(RACE),$(UNRACED),./... $(UNRACED))

$(EXAMPLES):
	cd $@ && $(GO_TEST) ./...

binaries:
	go build -o bin/ ./cmd/operon && cd cluster && go build -o ../bin/ ./cmd/operon-cluster

lint:
	@test -z "$$(gofmt -l $(MODULES))" || { echo "not formatted:"; gofmt -l $(MODULES); exit 1; }
	@for module in $(MODULES); do (cd $$module && go vet ./...) || exit 1; done
	cd cluster && go vet -tags slow ./internal/controlplane/slow

docs: ## build the documentation as a site, in bin/docs, and test its search; needs Node.js 18 or later
	cd docs/site && npm install --no-save --no-audit --no-fund --loglevel=error && npx vitepress build && node --test

clean:
	rm -rf bin
