.DEFAULT_GOAL := help

GO    ?= $(or $(shell command -v go 2>/dev/null),/usr/local/go/bin/go)
TOOLS := $(CURDIR)/.tools

# The BIRD daemons that the tests talk to. Whoever names other ones needs no packages.
own_bird := $(filter environment command,$(origin BIRDCONFD_TEST_BIRD))
own_servers := $(filter environment command,$(origin BIRDCONFD_TEST_SERVERS))
export BIRDCONFD_TEST_BIRD  ?= $(TOOLS)/bird1/usr/sbin/bird
export BIRDCONFD_TEST_BIRD6 ?= $(TOOLS)/bird1/usr/sbin/bird6
export BIRDCONFD_TEST_BIRD2 ?= $(TOOLS)/bird2/usr/sbin/bird

# The servers that the tests talk to: etcd and kube-apiserver, and an etcd that is old.
export BIRDCONFD_TEST_SERVERS ?= $(TOOLS)/servers
export BIRDCONFD_TEST_ETCD34  ?= $(TOOLS)/etcd34/usr/bin/etcd

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-10s %s\n", $$1, $$2 }'

.PHONY: tools
tools: birds servers ## put what the tests run into .tools: BIRD 1.6 and 2, etcd, kube-apiserver

.PHONY: birds
birds: ## put BIRD 1.6 and BIRD 2 into .tools, out of the distribution's packages
	@test/fetch-bird.sh '$(TOOLS)'

.PHONY: servers
servers: ## build etcd and kube-apiserver, once per machine, and put an old etcd beside them
	@test/fetch-etcd.sh '$(TOOLS)'
	@GO='$(GO)' test/build-servers.sh '$(TOOLS)/servers'

.PHONY: build
build: ## build bin/birdconfd
	$(GO) build -trimpath -o bin/birdconfd ./cmd/birdconfd

.PHONY: demo
demo: birds build ## render a sample node's configuration and let BIRD 1.6 check it
	PATH="$(TOOLS)/bird1/usr/sbin:$$PATH" bin/birdconfd render --sample

.PHONY: test
test: $(if $(own_bird),,birds) $(if $(own_servers),,servers) ## run all tests with the race detector, against the real BIRD daemons
	@race=-race; \
	if ! command -v gcc >/dev/null; then \
		echo 'make test: the race detector needs gcc, which is not installed' >&2; \
		[ "$$CI" != true ] || exit 1; \
		echo 'make test: going on without the race detector' >&2; \
		race=; \
	fi; \
	timed=$$($(GO) list ./test/lab/grlab); \
	set -ex; \
	$(GO) test -timeout 30m $$race $$($(GO) list ./... | grep -vxF "$$timed"); \
	$(GO) test -timeout 30m $$race "$$timed" # by itself, as it is about seconds

.PHONY: lint
lint: ## check formatting, go vet, staticcheck
	@bad=$$("$$($(GO) env GOROOT)/bin/gofmt" -l $$($(GO) list -f '{{.Dir}}' ./...)); \
	if [ -n "$$bad" ]; then echo "not formatted with gofmt:" >&2; echo "$$bad" >&2; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

.PHONY: lab
lab: $(if $(own_bird),,birds) build ## measure restarts of nodes in namespaces, as root, and print a table
	@$(GO) build -o bin/lab ./test/lab/table
	@exec bin/lab bin/birdconfd

.PHONY: bench
bench: ## run the benchmarks
	@dirs=$$(grep -rl --include='*_test.go' '^func Benchmark' ./cmd ./pkg ./test | xargs -r -n1 dirname | sort -u); \
	if [ -z "$$dirs" ]; then echo 'no benchmarks yet'; exit 0; fi; \
	set -x; $(GO) test -run '^$$' -bench . -benchmem $$dirs

.PHONY: clean
clean: ## remove what the other targets made
	rm -rf bin .tools
