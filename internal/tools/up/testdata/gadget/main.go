// This operator is what the tests of package up run. It needs the standard library only,
// so that it builds in a moment: it polls for Gadgets, makes a ConfigMap for each, reports
// on it, minds a finalizer where the spec wants one, and answers probes.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"
)

const api = "/apis/GROUP/v1/"

type object map[string]any

func (o object) at(fields ...string) any {
	var value any = map[string]any(o)
	for _, field := range fields {
		below, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = below[field]
	}
	return value
}

func (o object) text(fields ...string) string {
	text, _ := o.at(fields...).(string)
	return text
}

func main() {
	probes := flag.String("health-probe-bind-address", "0", "where probes are answered, 0 for nowhere")
	flag.Parse()
	if *probes != "0" {
		go http.ListenAndServe(*probes, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	}
	fmt.Fprintln(os.Stderr, "VERSION one")
	c := connect()
	for ; ; time.Sleep(50 * time.Millisecond) {
		var list struct{ Items []object }
		if err := json.Unmarshal(c.call("GET", api+"gadgets", "", nil), &list); err != nil {
			continue
		}
		for _, gadget := range list.Items {
			c.reconcile(gadget)
		}
	}
}

func (c *client) reconcile(gadget object) {
	namespace, name := gadget.text("metadata", "namespace"), gadget.text("metadata", "name")
	path := api + "namespaces/" + namespace + "/gadgets/" + name
	if gadget.text("metadata", "deletionTimestamp") != "" {
		c.call("PATCH", path, "application/merge-patch+json", object{"metadata": object{"finalizers": []string{}}})
		return
	}
	if gadget.at("spec", "finalize") == true && gadget.at("metadata", "finalizers") == nil {
		c.call("PATCH", path, "application/merge-patch+json", object{"metadata": object{"finalizers": []string{"GROUP/minded"}}})
	}
	if gadget.at("spec", "report") == false {
		return
	}
	owner := object{"apiVersion": "GROUP/v1", "kind": "Gadget", "name": name, "uid": gadget.text("metadata", "uid"), "controller": true, "blockOwnerDeletion": true}
	made := c.call("PATCH", "/api/v1/namespaces/"+namespace+"/configmaps/"+name+"?fieldManager=gadget&force=true", "application/apply-patch+yaml", object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": name, "ownerReferences": []object{owner}}, "data": object{"size": fmt.Sprint(gadget.at("spec", "size"))},
	})
	if made == nil {
		return
	}
	c.call("PATCH", path+"/status", "application/merge-patch+json", object{"status": object{
		"observedGeneration": gadget.at("metadata", "generation"),
		"size":               gadget.at("spec", "size"),
		"conditions":         []object{{"type": "Ready", "status": "True", "reason": "Made", "message": "all made", "lastTransitionTime": "2026-01-01T00:00:00Z"}},
	}})
}

type client struct {
	http          http.Client
	server, token string
}

// account is where a pod finds what its ServiceAccount connects by.
const account = "/var/run/secrets/kubernetes.io/serviceaccount/"

func connect() *client {
	if os.Getenv("KUBECONFIG") != "" {
		return connectByKubeconfig()
	}
	authority, err := os.ReadFile(account + "ca.crt")
	if err != nil {
		panic(err)
	}
	server := "https://" + net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	return newClient(server, account+"token", authority)
}

// connectByKubeconfig reads it line by line, which is enough for one of `operon up`.
func connectByKubeconfig() *client {
	content, err := os.ReadFile(os.Getenv("KUBECONFIG"))
	if err != nil {
		panic(err)
	}
	field := func(name string) string {
		found := regexp.MustCompile(`(?m)^ *` + name + `: (.*)$`).FindSubmatch(content)
		if found == nil {
			return ""
		}
		return string(found[1])
	}
	authority, err := base64.StdEncoding.DecodeString(field("certificate-authority-data"))
	if err != nil {
		panic(err)
	}
	return newClient(field("server"), field("tokenFile"), authority)
}

func newClient(server, token string, authority []byte) *client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	return &client{http: http.Client{Transport: transport}, server: server, token: token}
}

// call returns the answer's body, nil for an error, which is logged as client libraries do.
func (c *client) call(method, path, contentType string, body any) []byte {
	content, _ := json.Marshal(body)
	request, err := http.NewRequest(method, c.server+path, bytes.NewReader(content))
	if err != nil {
		panic(err)
	}
	token, err := os.ReadFile(c.token)
	if err != nil {
		panic(err)
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	request.Header.Set("Content-Type", contentType)
	answer, err := c.http.Do(request)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return nil
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	if answer.StatusCode < 300 {
		return text
	}
	var status object
	_ = json.Unmarshal(text, &status)
	fmt.Fprintf(os.Stderr, "level=ERROR msg=%q\n", status.text("message"))
	return nil
}
