// This program asks for an operator's metrics as Prometheus does, through the Service: with the token of the pod's
// ServiceAccount, and without. It prints what it is answered.
package main

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"time"
)

func main() {
	token, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/token")
	if err != nil {
		panic(err)
	}
	// Each pod of an operator signs its own certificate.
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: 10 * time.Second}
	fmt.Println("with the token:", ask(web, "Bearer "+string(token)))
	fmt.Println("without:", ask(web, ""))
}

// ask asks until there is an answer, as a node takes a moment to know a Service.
func ask(web *http.Client, authorization string) string {
	for ; ; time.Sleep(100 * time.Millisecond) {
		request, err := http.NewRequest(http.MethodGet, os.Getenv("METRICS"), nil)
		if err != nil {
			panic(err)
		}
		request.Header.Set("Authorization", authorization)
		answer, err := web.Do(request)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		answer.Body.Close()
		return answer.Status
	}
}
