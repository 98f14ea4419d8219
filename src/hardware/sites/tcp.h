/*
 * What one TCP connection carries at most over a long path, B/s of payload. Set: the round trip of
 * R seconds, the share p of packets that are lost, the window of W bytes (0: no limit).
 *
 *   window / R                          a window a round trip
 *   MSS / R x sqrt (3 / 2) / sqrt (p)   congestion avoidance with an acknowledgement a packet
 *
 * the smaller of the two (Mathis, Semke, Mahdavi, Ott, "The macroscopic behavior of the TCP
 * congestion avoidance algorithm", CCR 27(3), 1997). The MSS is that of an Ethernet frame of 1500
 * B with headers of 40. The second term is Reno's; CUBIC and BBR lose less by a packet.
 */
#pragma once

#define TCP_MSS 1460.0 /* B */

/* 0: nothing limits it. */
double tcp_connection_rate (double rtt, double loss, double window);
