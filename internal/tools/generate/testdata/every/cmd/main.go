// Command every is an operator.
package main

import "example.com/web/internal/webhook"

func main() { webhook.Serve() }
