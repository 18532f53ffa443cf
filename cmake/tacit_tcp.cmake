# The TCP transport: Boost.Asio for sockets, OpenSSL for TLS 1.3.
find_package(Boost 1.74 QUIET)
find_package(OpenSSL 3 QUIET)
if(NOT Boost_FOUND OR NOT OPENSSL_FOUND)
  message(STATUS "Boost or OpenSSL was not found: building without tacit::tcp, so ranks are threads of one process or "
                 "started by MPI. Install libboost-dev and libssl-dev, or say -DTACIT_TCP=OFF to keep it so.")
  set(TACIT_TCP OFF)
  return()
endif()

tacit_library(tcp
  SOURCES src/transport/tcp/circle_watch.cc src/transport/tcp/connection.cc src/transport/tcp/connection_out.cc src/transport/tcp/frame.cc
          src/transport/tcp/handshake.cc src/transport/tcp/housekeeper.cc src/transport/tcp/lobby.cc
          src/transport/tcp/meeting_point.cc src/transport/tcp/messages.cc src/transport/tcp/offers.cc
          src/transport/tcp/other_end.cc src/transport/tcp/peer_memory.cc src/transport/tcp/reception.cc
          src/transport/tcp/introduction.cc src/transport/tcp/peer_links.cc src/transport/tcp/rendezvous.cc src/transport/tcp/ring_memory.cc src/transport/tcp/shortcut.cc
          src/transport/tcp/socket_wire.cc src/transport/tcp/sockets.cc
          src/transport/tcp/stream.cc src/transport/tcp/tcp.cc src/transport/tcp/tls.cc src/transport/tcp/wait_chain.cc
  DEPS transport
  LINK OpenSSL::SSL
  BUILD_LINK Boost::headers)
