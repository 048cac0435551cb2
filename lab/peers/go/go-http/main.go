// Go-http is no RPC framework: it posts the benchmark message as JSON over
// HTTP/1.1 with net/http, and so puts load on whatever answers that. Its own
// server answers with encoding/json.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	"github.com/trunkcall/trunkcall/go/peer/benchmsg"
	"github.com/trunkcall/trunkcall/go/peer/load"
	"github.com/trunkcall/trunkcall/lab/peers/go/internal/program"
)

const (
	codecJSON      = "json"           // the message itself, to the method of BenchService
	codecArguments = "json-arguments" // a list with the message in it, to the code-first method
)

const (
	pathJSON      = "/trunkcall.bench.v1.BenchService/Say"
	pathArguments = "/bench/say"
	contentType   = "application/json"
)

var peer = program.Peer{
	Name:    "go-http",
	Methods: []string{"Say"},
	Codecs:  []string{codecJSON, codecArguments},
	Whole:   true,
	Serve:   serve,
	Bench:   bench,
}

func main() { peer.Main() }

func serve(listener net.Listener, _ program.ServeOptions) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+pathJSON, func(response http.ResponseWriter, request *http.Request) {
		message := new(benchv1.BenchmarkMessage)
		answer(response, json.NewDecoder(request.Body).Decode(message), message)
	})
	mux.HandleFunc("POST "+pathArguments, func(response http.ResponseWriter, request *http.Request) {
		var arguments []*benchv1.BenchmarkMessage
		err := json.NewDecoder(request.Body).Decode(&arguments)
		if err == nil && (len(arguments) != 1 || arguments[0] == nil) {
			err = errors.New("want one argument")
		}
		if err != nil {
			arguments = []*benchv1.BenchmarkMessage{nil}
		}
		answer(response, err, arguments[0])
	})
	return http.Serve(listener, mux) //nolint:gosec // it ends with the measurement
}

func answer(response http.ResponseWriter, err error, message *benchv1.BenchmarkMessage) {
	if err != nil {
		http.Error(response, err.Error(), http.StatusBadRequest)
		return
	}
	text, number := benchmsg.AnswerText, benchmsg.Work()
	message.Field1, message.Field2 = &text, &number
	response.Header().Set("Content-Type", contentType)
	_ = json.NewEncoder(response).Encode(message) // whoever does not read it has gone
}

// answered are the fields of an answer that are checked.
type answered struct {
	Field1 string `json:"field1"`
	Field2 int32  `json:"field2"`
}

// bench has a pool of connections for all callers, who wait for one where there
// are fewer; --clients are pools of one connection each.
func bench(options program.BenchOptions) (load.Factory, error) {
	_, address := load.Network(options.Target)
	path, request, err := body(options.Codec)
	if err != nil {
		return nil, err
	}
	url := "http://" + address + path
	dial := func(connections int) (*http.Client, error) {
		return &http.Client{Transport: &http.Transport{
			DisableCompression:  true,
			MaxConnsPerHost:     connections,
			MaxIdleConns:        connections,
			MaxIdleConnsPerHost: connections,
		}}, nil
	}
	return load.Spread(options.Options, false, dial, func(next func() *http.Client) (load.Call, error) {
		return func() error { return post(next(), url, request) }, nil
	})
}

// body is where the message is posted to, and as what.
func body(codec string) (path string, request []byte, err error) {
	if codec == codecArguments {
		request, err = json.Marshal([]*benchv1.BenchmarkMessage{benchmsg.New()})
		return pathArguments, request, err
	}
	request, err = json.Marshal(benchmsg.New())
	return pathJSON, request, err
}

func post(client *http.Client, url string, request []byte) error {
	response, err := client.Post(url, contentType, bytes.NewReader(request)) //nolint:noctx // it has no deadline
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %.200s", response.StatusCode, text)
	}
	var message answered
	if err := json.Unmarshal(text, &message); err != nil {
		return err
	}
	return benchmsg.CheckFields(message.Field1, message.Field2)
}
