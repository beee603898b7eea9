# The whole build: Go does the rest. Each folder here is a module of its own.
EXAMPLES := $(wildcard examples/*)
MODULES := cluster . $(EXAMPLES) bench

BINARY = OPERON_CLUSTER_BINARY=$(CURDIR)/bin/operon-cluster
GO_TEST = $(BINARY) go test -p 3 -parallel 8 -timeout 20m
# What is left out, or mostly skipped, where data races are looked for, as it takes too long then.
UNRACED := ./prove ./prove/testdata/gallery/operators

.PHONY: run test lint clean

run: ## run the example operator on a cluster of its own
	go run ./cmd/operon up examples/memcached

test: lint ## pass all tests; RACE=-race looks for data races in the root module
	go build -o bin/ ./cmd/operon && cd cluster && go build -o ../bin/ ./cmd/operon-cluster
	cd cluster && go test ./...
	$(if $(RACE),$(GO_TEST) $(RACE) ./...)
	$(GO_TEST) $(if $(RACE),$(UNRACED),./... $(UNRACED))
	@for module in $(EXAMPLES); do echo "go test ./... in $$module"; (cd $$module && $(BINARY) go test ./...) || exit 1; done
	cd bench && go test ./...

lint:
	@test -z "$$(gofmt -l $(MODULES))" || { echo "not formatted:"; gofmt -l $(MODULES); exit 1; }
	@for module in $(MODULES); do (cd $$module && go vet ./...) || exit 1; done

clean:
	rm -rf bin
