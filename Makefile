# Each directory of MODULES is a Go module. Examples without Go are tested by internal/ship/deploy.
EXAMPLES := $(patsubst %/go.mod,%,$(wildcard examples/*/go.mod))
MODULES := cluster . $(EXAMPLES) olm bench

BINARY = OPERON_CLUSTER_BINARY=$(CURDIR)/bin/operon-cluster OPERON_OLM_BINARY=$(CURDIR)/bin/operon-olm OPERON_ENGINE_BINARY=$(CURDIR)/bin/operon-engine
# The target lint runs go vet, so that tests do not. Without debug information, linking takes half the time.
# More tests at a time take no less time on two cores, until requests time out.
PARALLEL = 4
PACKAGES = 2
TIMEOUT = 40m
SHORT = -short
# go test takes the result of an earlier run if the test has the same flags, code, environment and opened files. It does not know what programs that a
# test starts read. .ci/run sets INPUTS to a hash of all of that: a flag that skips nothing, but is another one as soon as any input is. The tests of cluster use
# nothing outside it, and many others no program but the cluster: CLUSTER_INPUTS is the hash for these.
INPUTS ?=
CLUSTER_INPUTS ?=
# -count=1 runs tests of which there is a result.
COUNT ?=
TEST_FLAGS = -vet=off -ldflags=-w $(SHORT) -p $(PACKAGES) -parallel $(PARALLEL) -timeout $(TIMEOUT) $(COUNT) $(if $(INPUTS),-skip '^$(INPUTS)$$')
# CI sets RERUN: tests that failed are run a second time, alone, because on a shared machine, single tests of thousands fail for lack of processor time. Both
# runs are printed. After a data race, a panic, or more than three failures, nothing is run again.
RERUN =
GOTESTSUM = go run gotest.tools/gotestsum@v1.13.0 --format pkgname-and-test-fails --hide-summary skipped --rerun-fails=1 --rerun-fails-max-failures 3 --rerun-fails-abort-on-data-race
# $(call go_test,packages,more flags)
go_test = $(BINARY) $(if $(RERUN),$(GOTESTSUM) --packages='$1' -- $(TEST_FLAGS) $2,go test $(TEST_FLAGS) $2 $1)
# These run without the race detector: commands, generators, image builds, the resolver, the rules of this repository, and what reads and writes files
# start no goroutines and would take five times as long, and most of the gallery is skipped with it.
TOOLS = $(SLOWLY_RACED) ./cmd/operon ./internal/house ./internal/olm/... ./internal/tools/generate/... ./internal/tools/rbac/... ./internal/tools/scaffold/... ./internal/tools/doctor/... \
	./internal/tools/changes ./internal/tools/crdcompat ./internal/tools/crdschema ./internal/tools/explain ./internal/tools/git ./internal/tools/glob ./internal/tools/gobuild \
	./internal/tools/kube ./internal/tools/olm/... ./internal/tools/ports ./internal/tools/project/... ./internal/tools/projectfile ./internal/tools/removal ./internal/tools/syntax \
	./internal/ship/build/... ./internal/ship/image/debian ./internal/ship/licenses ./internal/ship/bundle/bundlerun ./internal/ship/bundle/create ./internal/ship/bundle/images \
	./internal/ship/catalog ./internal/ship/catalog/edit ./internal/ship/catalog/template ./internal/ship/chart ./internal/ship/dist ./internal/ship/lifecycle ./internal/ship/sbom
# These mostly wait for operators and clusters. With the race detector, they take half of the time of all packages: make slow-raced runs them with it. The
# packages that they use have tests of their own, which always run with it.
SLOWLY_RACED := ./engine/ansible ./internal/ship/deploy ./internal/ship/bundle/bundletest ./internal/ship/bundle/check ./internal/tools/projecttest/... ./internal/tools/up ./operontest ./test/...
UNRACED = ./prove/testdata/gallery/operators $(filter-out ./cmd/operon $(SLOWLY_RACED),$(TOOLS))
# Sessions of prove wait for operators to become idle, which takes several times as long on a busy machine, and the tests of the commands run
# container nodes. Nothing runs beside them: with the clusters of other tests, requests time out, and both take longer than one after the other. A third of
# the processor time of the cluster of ./prove is garbage collection, and there is memory enough.
ALONE := ./prove ./cmd/operon-engine ./cmd/operon
# Compression is not our code and takes ten times as long with the race detector. Nobody debugs what is compiled with the race detector here: without
# debug information, it needs a fifth less space and a bit less time.
UNWATCHED := '-gcflags=all=-dwarf=false' '-gcflags=github.com/klauspost/compress/...=-race=false -d=checkptr=0 -dwarf=false'
# Each of these keeps two cores busy by itself. Two at a time take several times as long, with the clusters, operators and Python workers of both.
BUSY := ./engine/helm ./internal/prove/runner ./internal/runtime/apply ./internal/runtime/reconcile ./internal/runtime/shard
# The tests of these compile programs of this repository.
COMPILING = $(shell go list ./prove ./internal/tools/up/process)
RACED = $(shell go list ./... | grep -vxF "$$(go list $(TOOLS) $(BUSY) ./cmd/operon-engine)")
REST = $(shell go list ./... | grep -vxF "$$(go list $(UNRACED) $(SLOWLY_RACED) $(BUSY) $(ALONE))")

.PHONY: run prove-gallery test slow slow-raced cluster raced raced-compiling lint clean binaries fuzz coverage vulncheck dist root docs olm bench $(EXAMPLES)

run: ## run the example operator on a cluster of its own
	go run ./cmd/operon up examples/memcached

# The programs that only tests use need no debug information either.
test slow slow-raced coverage: LINK = -ldflags=-w

test: lint binaries ## pass the tests, except those of the target slow; RACE=-race looks for data races in the root module
	@$(MAKE) --no-print-directory cluster
	$(if $(RACE),@$(MAKE) --no-print-directory raced raced-compiling)
	@$(MAKE) --no-print-directory root
	@$(MAKE) --no-print-directory olm
	@$(MAKE) --no-print-directory -j 2 $(EXAMPLES) bench

cluster: INPUTS = $(CLUSTER_INPUTS)
cluster:
	cd cluster && $(call go_test,./...)

# The tests of these packages start no program of this repository but the cluster and themselves.
raced: INPUTS = $(CLUSTER_INPUTS)
raced:
	$(call go_test,$(filter-out $(COMPILING),$(RACED)),$(RACE) $(UNWATCHED))
	$(call go_test,$(BUSY),-p 1 $(RACE) $(UNWATCHED))

raced-compiling:
	$(call go_test,$(COMPILING),$(RACE) $(UNWATCHED))

root: TIMEOUT = 75m
root:
	GOGC=400 $(call go_test,./prove)
	$(call go_test,./cmd/operon-engine)
	$(call go_test,./cmd/operon)
	$(call go_test,$(SLOWLY_RACED) $(if $(RACE),,$(BUSY)),-p 1)
	$(call go_test,$(UNRACED) $(if $(RACE),,$(REST)))

# One package at a time: linkers and clusters of several need more memory bandwidth than two cores have.
olm $(EXAMPLES) bench: PACKAGES = 1
olm $(filter-out examples/memcached,$(EXAMPLES)): INPUTS = $(CLUSTER_INPUTS)
olm $(EXAMPLES) bench:
	cd $@ && $(call go_test,./...)

# The names are those of the tests that call testaid.Slow.
slow: SHORT =
slow: PACKAGES = 1
slow: TIMEOUT = 75m
slow: binaries ## run the tests that take minutes each, most of them with containers: half an hour on two cores
	$(call go_test,./prove ./internal/ship/deploy ./cmd/operon ./cmd/operon-engine,-run '^(TestGallery|TestGallerySearch|TestInContainers|TestMySQLClusterWalkthrough|TestMySQLClusterHelmWalkthrough|TestMemcachedOLMWalkthrough|TestOtherPlatforms|TestProjectsOfOperatorSDKAreReliable)$$')

slow-raced: PACKAGES = 1
slow-raced: TIMEOUT = 75m
slow-raced: binaries ## look for data races in packages that take four times as long with the race detector: half an hour on two cores
	$(call go_test,$(SLOWLY_RACED),-race $(UNWATCHED))

prove-gallery: binaries ## search for all bugs of the corpus, and run 60 test cases on each correct operator: hours on two cores
	$(BINARY) go test -vet=off -ldflags=-w -timeout 6h -run 'TestGallery$$' -v ./prove -gallery

# The image of the manager contains nothing but operon-olm, which is therefore linked statically, and compiled like the operators in other images. The other programs are built with the default
# flags of `operon up` and `go test`, so that the operators of users reuse what was compiled.
binaries:
	go build $(LINK) -o bin/ ./cmd/operon ./cmd/operon-engine && (cd cluster && go build $(LINK) -o ../bin/ ./cmd/operon-cluster ./cmd/operon-node) && cd olm && CGO_ENABLED=0 go build $(LINK) -trimpath -o ../bin/operon-olm .
	$(if $(INPUTS),@touch -d @1073741824 bin bin/*)

fuzz: ## run each fuzz test of all modules, an hour in total; FUZZTIME=10s sets the time of each
	@tests=$$(grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9]+' * | sed -E 's|/[^/]*_test.go:func |:|' | sort -u); \
	each=$${FUZZTIME:-$$((3600 / $$(echo "$$tests" | wc -l)))s}; \
	for test in $$tests; do \
		echo "$${test%:*} $${test#*:} $$each"; \
		(cd $${test%:*} && $(BINARY) go test -vet=off -run '^$$' -fuzz "^$${test#*:}\$$" -fuzztime $$each -fuzzminimizetime 5s .) || failed="$$failed $${test#*:}"; \
	done; test -z "$$failed" || { echo "failed:$$failed"; exit 1; }

coverage: binaries ## measure each package of the runtime by its own tests; fails below 80 percent
	$(call go_test,./internal/runtime/...,-cover) | awk '{print} /coverage:/ && $$5 + 0 < 80 {bad = 1} /^(FAIL|---)/ {bad = 1} END {exit bad}'

vulncheck: ## report known vulnerabilities in code that is reachable; needs a network
	@for module in $(MODULES); do (cd $$module && go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...) || exit 1; done

dist: ## build the release archives in bin/dist, half an hour on two cores with an empty cache; PLATFORMS=linux/amd64,linux/arm64 builds some
	go run ./internal/ship/dist $(if $(PLATFORMS),--platforms $(PLATFORMS))

lint:
	@test -z "$$(gofmt -l $(MODULES))" || { echo "not formatted:"; gofmt -l $(MODULES); exit 1; }
	@for module in $(MODULES); do (cd $$module && go vet ./...) || exit 1; done
	cd cluster && go vet -tags slow ./internal/controlplane/slow

docs: ## build the documentation as a site, in bin/docs, and test its search; needs Node.js 18 or later
	cd docs/site && npm install --no-save --no-audit --no-fund --loglevel=error && npx vitepress build && node --test

clean:
	rm -rf bin
