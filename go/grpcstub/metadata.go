package grpcstub

import (
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/trunkcall/trunkcall/go"
)

func toMD(m trunkcall.Metadata) metadata.MD {
	md := make(metadata.MD, len(m))
	for i := range m {
		md[m[i].Key] = append(md[m[i].Key], m[i].Value)
	}
	return md
}

func fromMD(md metadata.MD) trunkcall.Metadata {
	m := make(trunkcall.Metadata, 0, len(md))
	for key, values := range md {
		for _, v := range values {
			m.Add(key, v)
		}
	}
	return m
}

func toPeer(p trunkcall.Peer) *peer.Peer {
	converted := &peer.Peer{Addr: p.Remote, LocalAddr: p.Local}
	if p.TLS != nil {
		converted.AuthInfo = credentials.TLSInfo{
			State:          *p.TLS,
			CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
		}
	}
	return converted
}
