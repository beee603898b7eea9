package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"net/http"
	"os"
)

// account is where a pod finds who it is.
const account = "/var/run/secrets/kubernetes.io/serviceaccount/"

// api asks the API server who this pod is, at the name that pods know it by.
func api() {
	authority, err := os.ReadFile(account + "ca.crt")
	if err != nil {
		log.Fatal(err)
	}
	token, err := os.ReadFile(account + "token")
	if err != nil {
		log.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	request, err := http.NewRequest(http.MethodGet, "https://kubernetes.default.svc/api/v1/namespaces/default/pods", nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	response, err := client.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Status)
}
