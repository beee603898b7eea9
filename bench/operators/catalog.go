package main

import "path/filepath"

// operator is a released operator of another project.
type operator struct {
	name string
	// module and version identify the module in the Go module proxy. pkg is its main package. It is empty if the main package is in
	// testdata/NAME.
	module, version, pkg string
	// crds is a file or directory in the module.
	crds string
	// run contains the arguments with which it serves one namespace.
	run string
	// settle is the value of --settle if the operator waits longer than the default between retries.
	settle string
}

// operators are the tested operators. They were chosen because they start on a local cluster without webhooks.
var operators = []operator{
	{
		name:   "argo-rollouts",
		module: "github.com/argoproj/argo-rollouts", version: "v1.10.1",
		pkg:  "github.com/argoproj/argo-rollouts/cmd/rollouts-controller",
		crds: "manifests/crds",
		run:  "--namespaced --namespace {namespace} --metricsport {port} --healthzPort {port}",
	},
	{
		name:   "cert-manager",
		module: "github.com/cert-manager/cert-manager", version: "v1.21.2",
		crds:   "deploy/crds",
		settle: "6s", // it retries after five seconds
	},
	{
		name:   "elastic",
		module: "github.com/elastic/cloud-on-k8s/v3", version: "v3.5.0",
		pkg:  "github.com/elastic/cloud-on-k8s/v3/cmd",
		crds: "config/crds/v1/all-crds.yaml",
		run: "manager --namespaces={namespace} --operator-namespace={namespace} --metrics-port=0 --enable-webhook=false" +
			" --disable-telemetry --distribution-channel=bench",
	},
	{
		name:   "prometheus-operator",
		module: "github.com/prometheus-operator/prometheus-operator", version: "v0.85.0",
		pkg:  "github.com/prometheus-operator/prometheus-operator/cmd/operator",
		crds: "example/prometheus-operator-crd",
		run:  "--namespaces={namespace} --web.listen-address=127.0.0.1:{port} --kubelet-endpoints=false",
	},
	{
		name:   "sealed-secrets",
		module: "github.com/bitnami-labs/sealed-secrets", version: "v0.27.1",
		pkg:  "github.com/bitnami-labs/sealed-secrets/cmd/controller",
		crds: "helm/sealed-secrets/crds",
		run:  "--all-namespaces=false --key-renew-period=0 --listen-addr=127.0.0.1:{port} --listen-metrics-addr=127.0.0.1:{port}",
	},
}

// files returns the path of one of this benchmark's files for the operator.
func (o *operator) files(dir string, name ...string) string {
	return filepath.Join(append([]string{dir, "testdata", o.name}, name...)...)
}
