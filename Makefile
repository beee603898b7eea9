# The whole build: Go does the rest. Each folder here is a module of its own.
MODULES := cluster . examples/memcached bench

.PHONY: run test lint clean

run: ## run the example operator on a cluster of its own
	go run ./cmd/operon up examples/memcached

test: lint ## pass all tests; RACE=-race looks for data races in the root module
	go build -o bin/ ./cmd/operon && cd cluster && go build -o ../bin/ ./cmd/operon-cluster
	cd cluster && go test ./...
	OPERON_CLUSTER_BINARY=$(CURDIR)/bin/operon-cluster go test $(RACE) -parallel 6 -timeout 20m ./... ./prove/testdata/gallery/operators
	$(if $(RACE),OPERON_CLUSTER_BINARY=$(CURDIR)/bin/operon-cluster go test -timeout 20m -run TestGallery ./prove)
	cd examples/memcached && OPERON_CLUSTER_BINARY=$(CURDIR)/bin/operon-cluster go test ./...
	cd bench && go test ./...

lint:
	@test -z "$$(gofmt -l $(MODULES))" || { echo "not formatted:"; gofmt -l $(MODULES); exit 1; }
	@for module in $(MODULES); do (cd $$module && go vet ./...) || exit 1; done

clean:
	rm -rf bin
